/** Ends this process when its parent process has ended, because then nobody else would end it. */
export const endWithParent = (): void => {
  process.stdin.on("end", () => process.exit(1)).resume()
}
