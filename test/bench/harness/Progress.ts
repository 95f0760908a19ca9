/** Prints progress on stderr, because stdout has the report. */
export const progress = (line: string): void => {
  process.stderr.write(`${line}\n`)
}
