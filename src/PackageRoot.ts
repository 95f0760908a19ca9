import { existsSync } from "node:fs"
import { dirname, join } from "node:path"

const rootAbove = (directory: string): string =>
  existsSync(join(directory, "package.json")) ? directory : rootAbove(dirname(directory))

/** The directory of this package. It is searched for upwards, because sources and bundle are at different depths below it. */
export const packageRoot: string = rootAbove(import.meta.dirname)
