/** Whether this is the long run (`npm run test:long`), with the same assertions on larger volumes. */
export const isLong: boolean = process.env.CATALOG_TEST_LONG === "1"

/**
 * Whether expensive planted faults run: `npm run test:planted`, and the long run. They show that a test can fail, not that the service
 * is right, and take seconds of processor time each.
 */
export const runsPlanted: boolean = isLong || process.env.CATALOG_TEST_PLANTED === "1"

/** The amount of work of a test, usually and in the long run. */
export const amount = (usual: number, long: number): number => (isLong ? long : usual)
