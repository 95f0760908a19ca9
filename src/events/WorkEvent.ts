import { Schema } from "effect"

/** The kinds of work whose changes are announced. A refresh is an import. */
export const WorkKind = Schema.Literal("publish", "import", "job", "drop", "scan")
export type WorkKind = typeof WorkKind.Type

export const workKinds = WorkKind.literals

/**
 * Changes by kind: the ids of the entities (publish), imports, jobs or drops; null: unknown, any of them may have
 * changed. An account has at most one scan of each dimension, so scans have no ids.
 */
export type WorkChanges = Partial<Readonly<Record<WorkKind, ReadonlyArray<string> | null>>>

/** Maximum ids of one kind in a message. More of them are sent as null. */
const maxIds = 20

/** Changes that are not sent yet. Its size is bounded, however many changes come. */
export class PendingChanges {
  private readonly byKind = new Map<WorkKind, Set<string> | null>()

  get isEmpty(): boolean {
    return this.byKind.size === 0
  }

  /** `id` undefined: any work of the kind may have changed. */
  add(kind: WorkKind, id: string | undefined): void {
    const ids = this.byKind.get(kind)
    if (ids === null) return
    if (id === undefined || (ids !== undefined && ids.size >= maxIds && !ids.has(id))) this.byKind.set(kind, null)
    else if (ids === undefined) this.byKind.set(kind, new Set([id]))
    else ids.add(id)
  }

  /** Returns the changes and forgets them. */
  take(): WorkChanges {
    const changes = Object.fromEntries([...this.byKind].map(([kind, ids]) => [kind, ids === null ? null : [...ids]]))
    this.byKind.clear()
    return changes
  }
}

const isKind = Schema.is(WorkKind)

/** A notification of the database: `<account> <kind> <id>`, or without the id. Undefined: another program sent it. */
export const parseNotification = (
  payload: string
): { readonly accountId: string; readonly kind: WorkKind; readonly id: string | undefined } | undefined => {
  const [accountId = "", kind, id] = payload.split(" ")
  return isKind(kind) ? { accountId, kind, id } : undefined
}
