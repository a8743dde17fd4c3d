import { guard, sees } from './guard.ts';

const limitMs = 1000;

export const clocksAgree = guard(
  'clocks-agree',
  'clocks agree within a second',
  ({ observation }, log) => {
    const skews = observation.members.flatMap(({ name, host }) =>
      host?.clock_skew_ms === undefined ? [] : [{ name, skew: host.clock_skew_ms }],
    );
    for (const { name, skew } of skews)
      if (Math.abs(skew) > limitMs)
        log.warn({
          member: name,
          message: `the clock of ${name} differs by ${(skew / 1000).toFixed(1)} s`,
          hint: 'leases and certificates depend on it: check the time service',
        });
  },
  sees.host,
);
