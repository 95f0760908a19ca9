/** Whether the long run was asked for (`npm run test:long`): it asserts the same of more. */
export const isLong: boolean = process.env.CATALOG_TEST_LONG === "1"

/** How much a test does: as a rule, and in the long run. */
export const amount = (usual: number, long: number): number => (isLong ? long : usual)
