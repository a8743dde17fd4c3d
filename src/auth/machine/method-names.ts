/** Sign-in methods without a person. */
export const machineMethodNames = ['service-account', 'client-credentials', 'token-exchange'] as const;
export type MachineMethodName = (typeof machineMethodNames)[number];
