export const demoClientId = 'TO-BE-FOUND';
