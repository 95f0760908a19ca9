import { randomUUID } from "node:crypto"
import { readlinkSync } from "node:fs"
import { Context, Option } from "effect"
import { startTokenOf } from "./LockFile.ts"

/** A process that takes leases. */
export interface Holder {
  readonly name: string
  /** Whether another holder has certainly ended. */
  readonly isGone: (name: string) => boolean
}

const pidNamespace = (): Option.Option<string> => Option.liftThrowable(() => readlinkSync("/proc/self/ns/pid"))()

/** The boot and pid namespace in which a pid is valid. */
const placeOf = (startToken: string) =>
  Option.map(pidNamespace(), (namespace) => `${namespace}:${startToken.split(":")[0]}`)

/** The name of a process of this host, for its leases. None: the system does not provide its start time. */
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
        // A process of another host or container cannot be checked from here: its lease has to expire.
        if (other === name || place !== name.split(" ")[0]) return false
        const now = startTokenOf(Number(pid))
        return now !== undefined && now !== start
      }
    })
  })

/** The name of this process on leases. The default checks /proc for other processes of the host. */
export class LeaseHolder extends Context.Reference<LeaseHolder>()("catalog/LeaseHolder", {
  defaultValue: makeHolder
}) {}

/** For a database that only one process can use at a time: every other holder has ended. */
export const onlyHolder = (): Holder => {
  const { name } = makeHolder()
  return { name, isGone: (other) => other !== name }
}
