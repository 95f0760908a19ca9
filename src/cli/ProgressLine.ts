import { Effect } from "effect"

/** Replaces a line of progress on stderr if it is a terminal. */
export const draw = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  })
