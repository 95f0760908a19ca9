/** Ends this process when the process that started it has ended: nobody is left who could kill it. */
export const endWithParent = (): void => {
  process.stdin.on("end", () => process.exit(1)).resume()
}
