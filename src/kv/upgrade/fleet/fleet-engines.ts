export const fleetEngines = ['ansible', 'ansible-inventory', 'argo'] as const;
export type FleetEngine = (typeof fleetEngines)[number];
