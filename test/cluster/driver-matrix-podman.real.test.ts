import { describe, expect, it } from 'vitest';
import { hasBinaries } from '../support/cluster.ts';
import { type Bed, type BedOptions, startBed } from '../support/driver-beds.ts';
import { driverMatrix } from '../support/driver-matrix.ts';

driverMatrix('podman');

/** podman 4.3 starts such a container again after `podman kill`, and cannot change its policy. */
describe.runIf(process.env['OPSCTL_SOAK'] === '1' && hasBinaries('3.4', '3.5'))(
  'containers of podman with a restart policy',
  () => {
    const on = async (policy: NonNullable<BedOptions['policy']>, use: (bed: Bed) => Promise<void>) => {
      const bed = await startBed('podman', '3.4', { policy });
      if (bed === undefined) return false;
      try {
        bed.offer('3.4', '3.5');
        await use(bed);
      } finally {
        await bed.close();
      }
      return true;
    };
    const unattended = ['--yes', '--accept-point-of-no-return'] as const;
    it('an upgrade replaces each container with the policy unless-stopped', async ({ skip }) => {
      const isHere = await on('unless-stopped', async (bed) => {
        const upgraded = await bed.opsctl('kv', 'upgrade', ...unattended);
        expect([upgraded.code, upgraded.stderr]).toEqual([0, expect.any(String)]);
        expect(await bed.versions()).toEqual(['3.5', '3.5', '3.5']);
      });
      if (!isHere) skip('podman cannot be had here; see stderr');
    }, 600_000);
    it('the check refuses the policy always and names the fix', async ({ skip }) => {
      const isHere = await on('always', async (bed) => {
        const checked = await bed.opsctl('kv', 'check');
        expect(checked.code).not.toBe(0);
        expect(`${checked.stdout}${checked.stderr}`.replace(/\s+/g, ' ')).toContain(
          '--restart unless-stopped',
        );
        expect(await bed.versions()).toEqual(['3.4', '3.4', '3.4']);
      });
      if (!isHere) skip('podman cannot be had here; see stderr');
    }, 600_000);
  },
);
