export const DEFAULT = { version: '3.2.32', newVersion: '3.3.27' };

/** Of each minor the one whose answers were seen on real servers. */
export const versions = ['3.2.32', '3.3.27', '3.4.23', '3.5.16', '3.5.33', '3.6.14'];
