/** Paths of the pages that other surfaces link to. The console serves them. */
export const pagePaths = {
  stores: "/stores",
  import: "/import",
  entities: "/entities",
  entity: "/entity",
  connections: "/settings/connections"
} as const

/** The page of one import or one entity. */
export const pageOf = (path: typeof pagePaths.import | typeof pagePaths.entity, id: string): string =>
  `${path}?${new URLSearchParams({ id })}`
