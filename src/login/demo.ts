export const demoClientId = 'TO-BE-FOUND';
export const demoUser = { email: 'ada@example.com', password: 'TO-BE-FOUND' };
