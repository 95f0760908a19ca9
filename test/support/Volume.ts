/** Whether this is the long run (`npm run test:long`), with the same assertions on larger volumes. */
export const isLong: boolean = process.env.CATALOG_TEST_LONG === "1"

/** The amount of work of a test, usually and in the long run. */
export const amount = (usual: number, long: number): number => (isLong ? long : usual)
