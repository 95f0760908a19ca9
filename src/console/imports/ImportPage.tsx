import {
  type ConflictDecision,
  columnsNotKept,
  type ImportConflict,
  type ImportRun,
  isRemovalToConfirm,
  plannedOf,
  type StoreAnswer
} from "../../imports/Import.ts"
import type { PendingEntity } from "../../publishing/PublicationRecord.ts"
import { maxEntries } from "../../storedata/MirrorRecords.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { actorName, counted, EntityLink, importTitle, kindWords } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { ConflictsDecided, ConflictsToDecide } from "./Conflicts.tsx"
import { isRead, PhaseOf } from "./ImportPhases.tsx"

/** Form fields: the decision on all undecided conflicts, and the confirmation of the number of removals. */
export const restField = "rest"
export const confirmField = "remove"

const Facts = ({ run }: { readonly run: ImportRun }) => (
  <div class="sheet">
    <dl>
      <dt>State</dt>
      <dd>
        <PhaseOf phase={run.phase} />
      </dd>
      <dt>Store</dt>
      <dd>{run.storeDomain}</dd>
      <dt>Source</dt>
      <dd>{run.fileName === null ? "The store itself, read through its platform" : `The file ${run.fileName}`}</dd>
      <dt>By</dt>
      <dd>{actorName(run.actor)}</dd>
      <dt>Began</dt>
      <dd>
        <Time at={run.createdAt} />
      </dd>
      <dt>Last change</dt>
      <dd>
        <Time at={run.updatedAt} />
      </dd>
      {(run.phase === "applying" || run.phase === "failed") && (
        <>
          <dt>Applied</dt>
          <dd>
            {run.applied.toLocaleString("en")} of {plannedOf(run.summary).toLocaleString("en")}
          </dd>
        </>
      )}
    </dl>
  </div>
)

/** Maximum number of ignored columns that are named. */
const maxColumns = 10

/** The counts of markets, definitions, metaobject entries and translations, in words. Empty if all counts are 0. */
const besideOf = (beside: NonNullable<ImportRun["summary"]["beside"]>): ReadonlyArray<string> => {
  const { markets, metafield_definitions, metaobject_definitions, metaobject_entries, translations } = beside
  const parts = [
    { count: markets, one: "market", many: "markets" },
    { count: metafield_definitions + metaobject_definitions, one: "definition", many: "definitions" },
    { count: metaobject_entries, one: "entry", many: "entries" },
    { count: translations, one: "translation", many: "translations" }
  ].filter(({ count }) => count > 0)
  const text = parts.map(({ count, many, one }) => counted(count, one, many)).join(", ")
  return text === "" ? [] : [`Other data: ${text}.`]
}

/** The result of reading the store after a file was applied, in words. */
const answerOf = (storeDomain: string, answer: StoreAnswer | null): ReadonlyArray<string> =>
  answer === null
    ? []
    : "error" in answer
      ? [
          `${storeDomain} could not be read, so it is unknown which values it has. The file's changes count as unpublished until the next refresh. ${answer.error}`
        ]
      : [
          `${storeDomain} has ${counted(answer.entities, "entity", "entities")} of the changed ones already. The others stay unpublished.`
        ]

/** The sentences below the counts of a summary. */
const sentencesOf = ({ fileName, storeDomain, summary }: ImportRun): ReadonlyArray<string> => {
  const { answer, beside, images, unlinked, unpublished, variants } = summary
  const { more, named } = columnsNotKept(summary, maxColumns)
  return [
    `Read: ${counted(variants, "variant")}${fileName === null ? "" : ` and ${counted(images, "image")}`}.`,
    ...(beside === null
      ? []
      : [
          ...besideOf(beside),
          ...(beside.cut_metaobjects.length === 0
            ? []
            : [
                `Only the first ${maxEntries.toLocaleString("en")} entries are imported of: ${beside.cut_metaobjects.join(", ")}.`
              ])
        ]),
    ...(unlinked === 0
      ? []
      : [
          `No longer in the store: ${counted(unlinked, "entity", "entities")}. Accepting removes them from the store. They stay in the catalog.`
        ]),
    ...answerOf(storeDomain, answer),
    ...(unpublished === 0
      ? []
      : [
          `Active but not published to the online store: ${counted(unpublished, "product")}. Accepting imports them as drafts.`
        ]),
    ...(named.length === 0
      ? []
      : [
          `Columns that are not imported, with the number of filled cells: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Publishing does not change them in the shop.`
        ])
  ]
}

const Summary = ({ run }: { readonly run: ImportRun }) => {
  const { collections, files } = run.summary
  const kinds = [
    { name: "Products", counts: run.summary },
    ...(run.source === "csv"
      ? []
      : [
          { name: "Collections", counts: collections },
          { name: "Media files", counts: files }
        ])
  ]
  return (
    <section aria-labelledby="summary">
      <h2 id="summary">Summary</h2>
      <Table
        labelledBy="summary"
        columns={["Kind", "New", "Changed", "Unchanged"]}
        isNumeric
        rows={kinds.map(({ counts: { created, unchanged, updated }, name }) => ({
          key: name,
          cells: [name, ...[created, updated, unchanged].map((count) => count.toLocaleString("en"))]
        }))}
      />
      {sentencesOf(run).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  )
}

/** The problems of a refused file. A single problem is not listed, because the error message describes it. */
const Problems = ({ problem_count: count, problems }: ImportRun["summary"]) =>
  count < 2 ? null : (
    <section aria-labelledby="problems">
      <h2 id="problems">{counted(count, "problem")} in the file</h2>
      <table class="sheet" aria-labelledby="problems">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Column</th>
            <th scope="col">Problem</th>
          </tr>
        </thead>
        <tbody>
          {problems.map(({ column, line, reason }, index) => (
            <tr key={index}>
              <td data-label="Line" class="number">
                {line ?? ""}
              </td>
              <td data-label="Column">{column ?? ""}</td>
              <td data-label="Problem">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > problems.length && <p>And {(count - problems.length).toLocaleString("en")} more.</p>}
    </section>
  )

/** Maximum number of removed entities that the page lists. */
export const maxRemovals = 100

const Removals = ({ removals, run }: { readonly run: ImportRun; readonly removals: ReadonlyArray<PendingEntity> }) => {
  const more = run.summary.unlinked - removals.length
  return removals.length === 0 ? null : (
    <section aria-labelledby="removals">
      <h2 id="removals">No longer in the store</h2>
      <p>
        {run.phase === "reviewing" ? "Accepting removes" : "The import removes"} these from {run.storeDomain}. They stay
        in the catalog and on other stores.
      </p>
      <ul>
        {removals.map(({ id, kind, title }) => (
          <li key={id}>
            <EntityLink id={id} kind={kind} title={title} /> <span class="quiet">{kindWords[kind]}</span>
          </li>
        ))}
        {more > 0 && <li class="quiet">and {more.toLocaleString("en")} more</li>}
      </ul>
    </section>
  )
}

/** Buttons that decide all undecided conflicts at once. */
const restWords: ReadonlyArray<{ readonly rest: ConflictDecision; readonly name: string }> = [
  { rest: "keep_draft", name: "Keep our draft for all undecided and accept" },
  { rest: "take_store", name: "Take the store's value for all undecided and accept" }
]

/** The last part of the form. The plain accept button is shown when all conflicts are decided. */
const Acceptance = ({ run, undecided }: { readonly run: ImportRun; readonly undecided: number }) => (
  <section aria-labelledby="decision">
    <h2 id="decision">Your decision</h2>
    <p>Nothing is written yet, and nobody can change the catalog until you accept or discard this import.</p>
    {isRemovalToConfirm(run.summary) && (
      <label class="pick">
        <input type="checkbox" name={confirmField} value={run.summary.unlinked} required />
        Yes, remove these {counted(run.summary.unlinked, "entity", "entities")} from {run.storeDomain}
      </label>
    )}
    {undecided > 0 && (
      <p>
        {counted(undecided, "conflict is", "conflicts are")} undecided. Choose a value for each and save your decisions;
        then you can accept the import. Or decide all undecided conflicts at once:
      </p>
    )}
    <div class="buttons">
      {undecided > 0 ? (
        restWords.map(({ name, rest }) => (
          <button key={rest} type="submit" class="plain" name={restField} value={rest}>
            {name}
          </button>
        ))
      ) : (
        <button type="submit">Accept the import</button>
      )}
    </div>
  </section>
)

type ReviewShown = Parameters<typeof ConflictsToDecide>[0]

/** Decisions and acceptance are in one form, so every button sends the decisions. */
const Review = ({ csrf, ...shown }: ReviewShown & { readonly csrf: string }) => (
  <>
    <form method="post" action={paths.acceptImport}>
      <HiddenFields csrf={csrf} id={shown.run.id} />
      {shown.run.summary.conflicts > 0 && <ConflictsToDecide {...shown} />}
      <Acceptance run={shown.run} undecided={shown.undecided} />
    </form>
    <form method="post" action={paths.discardImport} class="fields">
      <HiddenFields csrf={csrf} id={shown.run.id} />
      <div class="buttons">
        <button type="submit" class="danger">
          Discard the import
        </button>
      </div>
    </form>
  </>
)

/** Shown while a process works on the import. The page does not reload automatically. */
const Working = ({ run }: { readonly run: ImportRun }) => (
  <Note>
    <p>
      {run.phase === "fetching"
        ? `The ${run.fileName === null ? "store" : "file"} is being read and compared with the catalog. Nothing is written before you accept it.`
        : "The import is being applied. The catalog is locked until then."}{" "}
      You can leave this page. <a href={pageOf(paths.import, run.id)}>Reload</a>
    </p>
  </Note>
)

/** `conflicts`: those with a number above `after`, at most `atOnce`; `undecided`: number of all undecided conflicts. */
export const ImportPage = ({
  after,
  atOnce,
  conflicts,
  note,
  removals,
  run,
  undecided,
  visitor
}: {
  readonly visitor: Visitor
  readonly run: ImportRun
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number
  readonly atOnce: number
  readonly undecided: number
  /** The first entities that the import removes from the store. */
  readonly removals: ReadonlyArray<PendingEntity>
  readonly note?: string | undefined
}) => {
  const { phase } = run
  const shown = { run, conflicts, after, atOnce }
  return (
    <Frame title={importTitle(run)} visitor={visitor} current={paths.imports} isLockShown>
      {note !== undefined && (
        <Note>
          <p>{note}</p>
        </Note>
      )}
      {run.error !== null && (
        <Alert>
          <p>{run.error}</p>
        </Alert>
      )}
      {(phase === "fetching" || phase === "applying") && <Working run={run} />}
      <Facts run={run} />
      <Problems {...run.summary} />
      {isRead(run) && <Summary run={run} />}
      <Removals run={run} removals={removals} />
      {phase === "reviewing" ? (
        <Allowed to="edit" otherwise={<p>Somebody with the role Edit reviews it.</p>}>
          <Review {...shown} csrf={visitor.csrf} undecided={undecided} />
        </Allowed>
      ) : (
        run.summary.conflicts > 0 && <ConflictsDecided {...shown} />
      )}
      <p>
        <a href={paths.imports}>All imports</a>
      </p>
    </Frame>
  )
}
