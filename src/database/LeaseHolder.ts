import { randomUUID } from "node:crypto"
import { readlinkSync } from "node:fs"
import { Context, Option } from "effect"
import { startTokenOf } from "./LockFile.ts"

/** This process on the leases that it takes. */
export interface Holder {
  readonly name: string
  /** Whether the process that took a lease is certainly gone. */
  readonly isGone: (name: string) => boolean
}

const pidNamespace = (): Option.Option<string> => Option.liftThrowable(() => readlinkSync("/proc/self/ns/pid"))()

/** Whose processes a pid tells: those of one boot of one pid namespace. */
const placeOf = (startToken: string) =>
  Option.map(pidNamespace(), (namespace) => `${namespace}:${startToken.split(":")[0]}`)

/** How a process of this host is named on leases; none where the system does not tell when it started. */
export const holderNameOf = (pid: number): Option.Option<string> =>
  Option.flatMap(Option.fromNullable(startTokenOf(pid)), (start) =>
    Option.map(placeOf(start), (place) => `${place} ${pid} ${start}`)
  )

const makeHolder = (): Holder =>
  Option.match(holderNameOf(process.pid), {
    onNone: () => ({ name: `unknown ${randomUUID()}`, isGone: () => false }),
    onSome: (name) => ({
      name,
      isGone: (other) => {
        const [place, pid, start] = other.split(" ")
        // A process of another host, or of another container, cannot be seen from here: its lease has to run out.
        return place === name.split(" ")[0] && startTokenOf(Number(pid)) !== start
      }
    })
  })

/** Names this process on its leases. The default tells by /proc which processes of the same host are gone. */
export class LeaseHolder extends Context.Reference<LeaseHolder>()("catalog/LeaseHolder", {
  defaultValue: makeHolder
}) {}

/** The holder where one process at a time has the database: every other holder is gone. */
export const onlyHolder = (): Holder => {
  const { name } = makeHolder()
  return { name, isGone: (other) => other !== name }
}
