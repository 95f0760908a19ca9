import { randomUUID } from "node:crypto"
import { Context } from "effect"
import { hasEnded, processNameOf } from "../runtime/ProcessName.ts"

/** A process that takes leases. */
interface Holder {
  readonly name: string
  /** Whether another holder has certainly ended. If its process cannot be checked from here, its lease has to expire. */
  readonly isGone: (name: string) => boolean
}

const makeHolder = (): Holder => {
  const name = processNameOf(process.pid)
  return name === undefined
    ? { name: `unknown ${randomUUID()}`, isGone: () => false }
    : { name, isGone: (other) => hasEnded(other, name) }
}

/** The name of this process on leases. The default checks /proc for other processes of the host. */
export class LeaseHolder extends Context.Reference<LeaseHolder>()("catalog/LeaseHolder", {
  defaultValue: makeHolder
}) {}

/** For a database that only one process can use at a time: every other holder has ended. */
export const onlyHolder = (): Holder => {
  const { name } = makeHolder()
  return { name, isGone: (other) => other !== name }
}
