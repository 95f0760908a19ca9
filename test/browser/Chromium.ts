import { accessSync, constants } from "node:fs"

const isThere = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The path of the browser; undefined: it is not installed. */
export const program = [
  process.env.CHROMIUM,
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome"
].find((path): path is string => path !== undefined && isThere(path))

/** For `describe.skipIf(!chromiumIsThere)`. */
export const chromiumIsThere = program !== undefined

if (!chromiumIsThere)
  console.warn("No chromium (`apt-get install chromium-headless-shell`, or CHROMIUM): browser tests are left out.")
