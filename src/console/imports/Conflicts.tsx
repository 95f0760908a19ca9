import type { ComponentChildren } from "preact"
import type { ConflictDecision, ImportConflict, ImportRun } from "../../imports/Import.ts"
import { typeOf } from "../../model/Attribute.ts"
import { Time } from "../Frame.tsx"
import { actorName, EntityLink } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { type Row, Table } from "../Table.tsx"
import { ComparedValue, OrderOf, readable, Value } from "../Values.tsx"

/** The name of the form field with the decision on a conflict. */
export const conflictField = (conflict: number | ""): string => `conflict-${conflict}`

const orders: Readonly<Record<string, string>> = {
  media_ids: "order of media",
  variant_ids: "order of variants",
  members: "members and their order"
}

const Side = ({
  children,
  conflict: { conflict, decision },
  name,
  value
}: {
  readonly conflict: ImportConflict
  readonly value: ConflictDecision
  readonly name: string
  readonly children: ComponentChildren
}) => {
  const id = `${value}-${conflict}`
  return (
    <div>
      <label class="pick">
        <input
          type="radio"
          name={conflictField(conflict)}
          value={value}
          checked={decision === value}
          aria-describedby={id}
        />
        {name}
      </label>
      <div class="value" id={id}>
        {children}
      </div>
    </div>
  )
}

const Sides = ({ conflict }: { readonly conflict: ImportConflict }) => {
  const type = typeOf(conflict.entity_type, conflict.field, [])
  const [draft, store] = [readable(conflict.draft_value, type), readable(conflict.store_value, type)]
  const isOrder = Object.hasOwn(orders, conflict.field)
  return (
    <div class="versus">
      <Side conflict={conflict} value="keep_draft" name="Keep our draft">
        {isOrder ? <OrderOf text={conflict.draft_value} /> : <ComparedValue text={draft} other={store} />}
      </Side>
      <Side conflict={conflict} value="take_store" name="Take the store's value">
        {isOrder ? <OrderOf text={conflict.store_value} /> : <ComparedValue text={store} other={draft} />}
      </Side>
    </div>
  )
}

const Conflict = ({ conflict }: { readonly conflict: ImportConflict }) => {
  const { accepted, decided_at, decided_by, entity_id, entity_type, field, title } = conflict
  return (
    <fieldset class="conflict">
      <legend>
        <EntityLink id={entity_id} kind={entity_type} title={title} />: {orders[field] ?? <code>{field}</code>}
      </legend>
      <Sides conflict={conflict} />
      <details>
        <summary>Last accepted value of the store</summary>
        {accepted === null ? (
          <p class="quiet">None: it was never published there.</p>
        ) : orders[field] === undefined ? (
          <p>
            <Value text={readable(accepted, typeOf(entity_type, field, []))} />
          </p>
        ) : (
          <OrderOf text={accepted} />
        )}
      </details>
      {decided_by !== null && decided_at !== null && (
        <p class="quiet">
          Decided by {actorName(decided_by)}, <Time at={decided_at} />
        </p>
      )}
    </fieldset>
  )
}

const decidedRow = (conflict: ImportConflict): Row => {
  const { decided_by, decision, draft_value, entity_id, entity_type, field, store_value, title } = conflict
  const type = typeOf(entity_type, field, [])
  const cell = (text: string) =>
    orders[field] === undefined ? <Value text={readable(text, type)} /> : <OrderOf text={text} />
  return {
    key: String(conflict.conflict),
    cells: [
      <>
        <EntityLink id={entity_id} kind={entity_type} title={title} />
        <div>{orders[field] ?? <code>{field}</code>}</div>
      </>,
      cell(draft_value),
      cell(store_value),
      <>
        {decision === null ? (
          <span class="quiet">none</span>
        ) : decision === "keep_draft" ? (
          "Our draft was kept"
        ) : (
          "The store's value was taken"
        )}
        {decided_by !== null && <div class="quiet">{actorName(decided_by)}</div>}
      </>
    ]
  }
}

const everyConflict: ReadonlyArray<{ readonly decision: ConflictDecision; readonly name: string }> = [
  { decision: "keep_draft", name: "Keep every draft" },
  { decision: "take_store", name: "Take every value of the store" }
]

interface ConflictsShown {
  readonly run: ImportRun
  /** Conflicts whose number is greater than `after`, at most `atOnce` of them. */
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number
  readonly atOnce: number
}

const Pages = ({ after, atOnce, conflicts, run: { id, summary } }: ConflictsShown) => {
  const last = conflicts.at(-1)?.conflict ?? after
  const at = (number: number) => `${pageOf(paths.import, id)}&after=${number}`
  return after === 0 && last >= summary.conflicts ? null : (
    <nav class="pages" aria-label="Pages of conflicts">
      {after > 0 && <a href={at(Math.max(after - atOnce, 0))}>Previous conflicts</a>}
      {conflicts.length > 0 && (
        <span class="quiet">
          {conflicts[0]?.conflict} to {last} of {summary.conflicts}
        </span>
      )}
      {last < summary.conflicts && conflicts.length > 0 && <a href={at(last)}>Next conflicts</a>}
    </nav>
  )
}

/** Conflicts of an import under review. They are in the form that accepts the import, so every button sends the decisions. */
export const ConflictsToDecide = ({ undecided, ...shown }: ConflictsShown & { readonly undecided: number }) => {
  const { after, conflicts, run } = shown
  return (
    <section aria-labelledby="conflicts">
      <h2 id="conflicts">Conflicts</h2>
      <p>
        {run.summary.conflicts === 1 ? "One value was" : `${run.summary.conflicts} values were`} edited here and in the
        store since the last publish. {undecided === 0 ? "All are decided." : `${undecided} undecided.`} Differences are
        marked.
      </p>
      <Pages {...shown} />
      {conflicts.length > 0 && (
        <div class="fields">
          {after > 0 && <input type="hidden" name="after" value={after} />}
          {conflicts.map((conflict) => (
            <Conflict key={conflict.conflict} conflict={conflict} />
          ))}
          <div class="buttons">
            <button
              type="submit"
              class={undecided === 0 ? "plain" : undefined}
              formaction={paths.decideConflicts}
              formnovalidate
            >
              Save decisions
            </button>
          </div>
        </div>
      )}
      <Pages {...shown} />
      <div class="buttons">
        {everyConflict.map(({ decision, name }) => (
          <button
            key={decision}
            type="submit"
            class="plain"
            name="decision"
            value={decision}
            formaction={paths.decideAllConflicts}
            formnovalidate
          >
            {name}
          </button>
        ))}
      </div>
    </section>
  )
}

/** Conflicts of an import that is not under review any more. */
export const ConflictsDecided = (shown: ConflictsShown) => (
  <section aria-labelledby="conflicts">
    <h2 id="conflicts">Conflicts</h2>
    {shown.conflicts.length === 0 ? (
      <p class="quiet">They were deleted seven days after the end of the import.</p>
    ) : (
      <Table
        labelledBy="conflicts"
        columns={["Value", "Our draft", "The store's value", "Decision"]}
        rows={shown.conflicts.map(decidedRow)}
      />
    )}
    <Pages {...shown} />
  </section>
)
