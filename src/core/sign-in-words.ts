/** Words that settings, flags and the sign-in itself share. */

/** Sign-in methods without a person. */
export const machineMethodNames = ['service-account', 'client-credentials', 'token-exchange'] as const;
export type MachineMethodName = (typeof machineMethodNames)[number];

/** How a client proves itself: in the body as the document has it, by HTTP Basic, or by a signature (RFC 7523 2.2). */
export const clientAuthentications = ['body', 'basic', 'private_key_jwt'] as const;
export type ClientAuthentication = (typeof clientAuthentications)[number];
