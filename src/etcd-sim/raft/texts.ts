/** What members log about elections, in the words of the real servers. */
export const followText = (own: string, before: string | undefined, leader: string, term: number): string =>
  before === undefined
    ? `raft.node: ${own} elected leader ${leader} at term ${term}`
    : `raft.node: ${own} changed leader from ${before} to ${leader} at term ${term}`;
export const campaignTexts = (own: string, term: number): string[] => [
  `${own} is starting a new election at term ${term - 1}`,
  `${own} became candidate at term ${term}`,
];
export const leadTexts = (own: string, term: number): string[] => [
  `${own} became leader at term ${term}`,
  followText(own, undefined, own, term),
];
