/** Paths of the console's pages to which other surfaces link. */
export const pagePaths = {
  stores: "/stores",
  import: "/import",
  products: "/products",
  entity: "/entity",
  connections: "/settings/connections"
} as const

/** The path of the page of one import or entity. */
export const pageOf = (path: typeof pagePaths.import | typeof pagePaths.entity, id: string): string =>
  `${path}?${new URLSearchParams({ id })}`
