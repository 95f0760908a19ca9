import { localTimeOf } from "../drops/Zone.ts"

/** A time to the minute, with its zone. `timeZone` null: UTC. */
export const timeIn = (at: string, timeZone: string | null): string =>
  timeZone === null
    ? `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`
    : `${localTimeOf(Date.parse(at), timeZone).slice(0, 16).replace("T", " ")} ${timeZone}`
