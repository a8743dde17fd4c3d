type Random = { random(bytes: number): Uint8Array };
/** From 0 to below 1, in steps of 1/256: enough to spread retries. */
export const randomShare = (host: Random): number => (host.random(1)[0] ?? 0) / 256;
