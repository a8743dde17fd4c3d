/** `marks`: places in the product's sources that the fuzzer can reach. */
export function buildFuzzer(outfile: string): Promise<{ readonly program: string; readonly marks: number }>;
