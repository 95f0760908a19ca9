/** What is going on, on stderr: stdout belongs to the report. */
export const progress = (line: string): void => {
  process.stderr.write(`${line}\n`)
}
