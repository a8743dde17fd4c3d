/**
 * How long members may be unhealthy before that counts against one of them. An election takes one to two seconds, a split vote as long again, and
 * a question that is lost in one is answered when its time is over. Measured on three members of 3.3 and 3.4, one cut off for a second: it came
 * back as a candidate, and the others were unhealthy for up to 4.9 s.
 */
export const electionPatienceMs = 10_000;
