/** The well-known client and users of the embedded server's demo seed; they protect nothing. A test compares them with the seed. */
export const demoClientId = '417000000001-demodesktop000000000000000000000.apps.opsctl.example';
export const demoUsers = [
  { email: 'ada@demo.example', password: 'ada-demo' },
  { email: 'bob@demo.example', password: 'bob-demo' },
] as const;
