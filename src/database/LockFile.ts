// Imports nothing: a second start is refused before the rest of the program is loaded.

/** The lock file of a data directory. */
export const lockPath = (dataDirectory: string): string => `${dataDirectory}/catalog.lock`

export const inUse = (dataDirectory: string, pid: number): string =>
  `The database in ${dataDirectory} is in use by process ${pid}: stop that process, or choose another DATA_DIR.`
