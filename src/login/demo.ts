/** The well-known client and user of the embedded server's demo seed; they protect nothing. A test compares them with the seed. */
export const demoClientId = '417000000001-demodesktop000000000000000000000.apps.opsctl.example';
export const demoUser = { email: 'ada@demo.example', password: 'ada-demo' };
