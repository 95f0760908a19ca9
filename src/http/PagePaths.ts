/** Paths of pages that other surfaces link, where only a person can go on. `console/Paths.ts` has all paths. */
export const storesPath = "/stores"
export const importPath = "/import"

/** The path with the id of the record that the page shows. */
export const withId = (path: string, id: string): string => `${path}?${new URLSearchParams({ id })}`
