import {
  type ConflictDecision,
  columnsNotKept,
  type DecisionTally,
  type ImportConflict,
  type ImportRun,
  isRemovalToConfirm,
  plannedOf,
  type ReadingProgress,
  type StoreAnswer
} from "../../imports/Import.ts"
import type { ReviewRow } from "../../imports/ReviewLists.ts"
import { maxEntries } from "../../storedata/MirrorRecords.ts"
import type { Visitor } from "../Browser.ts"
import { Facts, FieldMisfit, type Misfit, misfitId } from "../Field.tsx"
import { Alert, Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import { actorName, importTitle } from "../Naming.tsx"
import { jobPath, pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { ConflictsDecided, ConflictsToDecide } from "./Conflicts.tsx"
import { ImportRows, type ImportTab, ImportTabs, type ListFilter, ListSearch, listsTitle } from "./ImportLists.tsx"
import { isRead, PhaseOf } from "./ImportPhases.tsx"
import { ProgressOf, progressSentence, StepsOf } from "./ImportProgress.tsx"
import type { RefusedReview } from "./ImportView.tsx"

/** Form fields: the decision on all undecided conflicts, and the confirmation of the number of removals. */
export const restField = "rest"
export const confirmField = "remove"

const Details = ({ run }: { readonly run: ImportRun }) => {
  const t = useWords()
  return (
    <div class="sheet">
      <Facts
        of={[
          [t("State"), <PhaseOf phase={run.phase} />],
          [t("Store"), run.storeDomain],
          [
            t("Source"),
            run.fileName === null
              ? t("The store itself, read through its platform")
              : t("The file {file}", { file: run.fileName })
          ],
          [t("By"), actorName(t, run.actor)],
          [t("Began"), <Time at={run.createdAt} />],
          [t("Last change"), <Time at={run.updatedAt} />],
          (run.phase === "applying" || run.phase === "failed") && [
            t("Applied"),
            t("{done, number} of {all, number}", { done: run.applied, all: plannedOf(run.summary) })
          ]
        ]}
      />
    </div>
  )
}

/** Maximum number of ignored columns that are named. */
const maxColumns = 10

/** The counts of markets, definitions, metaobject entries and translations, in words. Empty if all counts are 0. */
const besideOf = (t: Words, beside: NonNullable<ImportRun["summary"]["beside"]>): ReadonlyArray<string> => {
  const { markets, metafield_definitions, metaobject_definitions, metaobject_entries, translations } = beside
  const definitions = metafield_definitions + metaobject_definitions
  const texts = [
    ...(markets === 0 ? [] : [t("{count, plural, one {# market} other {# markets}}", { count: markets })]),
    ...(definitions === 0
      ? []
      : [t("{count, plural, one {# definition} other {# definitions}}", { count: definitions })]),
    ...(metaobject_entries === 0
      ? []
      : [t("{count, plural, one {# entry} other {# entries}}", { count: metaobject_entries })]),
    ...(translations === 0
      ? []
      : [t("{count, plural, one {# translation} other {# translations}}", { count: translations })])
  ]
  return texts.length === 0 ? [] : [t("Other data: {data}.", { data: texts.join(t(", ")) })]
}

/** The result of reading the store after a file was applied, in words. */
const answerOf = (t: Words, storeDomain: string, answer: StoreAnswer | null): ReadonlyArray<string> =>
  answer === null
    ? []
    : "error" in answer
      ? [
          t(
            "{store} could not be read, so it is unknown which values it has. The file's changes count as unpublished until the next refresh. {problem}",
            { store: storeDomain, problem: answer.error }
          )
        ]
      : [
          t(
            "{store} already has the values of {count, plural, one {# changed item} other {# changed items}}. The others stay unpublished.",
            { store: storeDomain, count: answer.entities }
          )
        ]

/** The sentences below the counts of a summary. */
const sentencesOf = (t: Words, { fileName, storeDomain, summary }: ImportRun): ReadonlyArray<string> => {
  const { answer, beside, images, unlinked, unpublished, variants } = summary
  const { more, named } = columnsNotKept(summary, maxColumns)
  return [
    fileName === null
      ? t("Read: {count, plural, one {# variant} other {# variants}}.", { count: variants })
      : t(
          "Read: {count, plural, one {# variant} other {# variants}} and {images, plural, one {# image} other {# images}}.",
          { count: variants, images }
        ),
    ...(beside === null
      ? []
      : [
          ...besideOf(t, beside),
          ...(beside.cut_metaobjects.length === 0
            ? []
            : [
                t("Only the first {count, number} entries are imported of: {kinds}.", {
                  count: maxEntries,
                  kinds: beside.cut_metaobjects.join(t(", "))
                })
              ])
        ]),
    ...(unlinked === 0
      ? []
      : [
          t(
            "No longer in the store: {count, plural, one {# item} other {# items}}. Accepting removes them from the store. They stay in the catalog.",
            { count: unlinked }
          )
        ]),
    ...answerOf(t, storeDomain, answer),
    ...(unpublished === 0
      ? []
      : [
          t(
            "Active but not published to the online store: {count, plural, one {# product} other {# products}}. Accepting imports them as drafts.",
            { count: unpublished }
          )
        ]),
    ...(named.length === 0
      ? []
      : [
          t(
            "Columns that are not imported, with the number of filled cells: {columns}. Publishing does not change them in the shop.",
            { columns: [...named, ...(more > 0 ? [t("{count, number} more", { count: more })] : [])].join(t(", ")) }
          )
        ])
  ]
}

const Summary = ({ run }: { readonly run: ImportRun }) => {
  const t = useWords()

  const { collections, files } = run.summary
  const kinds = [
    { name: t("Products"), counts: run.summary },
    ...(run.source === "csv"
      ? []
      : [
          { name: t("Collections"), counts: collections },
          { name: t("Media files"), counts: files }
        ])
  ]
  return (
    <section aria-labelledby="summary">
      <h2 id="summary">{t("Summary")}</h2>
      <Table
        labelledBy="summary"
        columns={[t("Kind"), t("New"), t("Changed"), t("Unchanged")]}
        isNumeric
        rows={kinds.map(({ counts: { created, unchanged, updated }, name }) => ({
          key: name,
          cells: [name, ...[created, updated, unchanged].map((count) => t.number(count))]
        }))}
      />
      {sentencesOf(t, run).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  )
}

/** The problems of a refused file. A single problem is not listed, because the error message describes it. */
const Problems = ({ problem_count: count, problems }: ImportRun["summary"]) => {
  const t = useWords()
  return count < 2 ? null : (
    <section aria-labelledby="problems">
      <h2 id="problems">{t("{count, plural, one {# problem} other {# problems}} in the file", { count })}</h2>
      <table class="sheet" aria-labelledby="problems">
        <thead>
          <tr>
            <th scope="col">{t("Line")}</th>
            <th scope="col">{t("Column")}</th>
            <th scope="col">{t("Problem")}</th>
          </tr>
        </thead>
        <tbody>
          {problems.map(({ column, line, reason }, index) => (
            <tr key={index}>
              <td data-label={t("Line")} class="number">
                {line ?? ""}
              </td>
              <td data-label={t("Column")}>{column ?? ""}</td>
              <td data-label={t("Problem")}>{t.say(reason)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > problems.length && <p>{t("And {count, number} more.", { count: count - problems.length })}</p>}
    </section>
  )
}

/** The explanation of removals, above the list. */
const Leaving = ({ run }: { readonly run: ImportRun }) => {
  const t = useWords()
  return (
    <p>
      {t(
        run.phase === "reviewing"
          ? "Accepting removes these from {store}. They stay in the catalog and on other stores."
          : "The import removed these from {store}. They stay in the catalog and on other stores.",
        { store: run.storeDomain }
      )}
    </p>
  )
}

/** Buttons that decide all undecided conflicts at once. */
const restWords: ReadonlyArray<{ readonly rest: ConflictDecision; readonly name: Sentence }> = [
  { rest: "keep_draft", name: "Keep our draft for all undecided and accept" },
  { rest: "take_store", name: "Take the store's value for all undecided and accept" }
]

/** The last part of the form. The plain accept button is shown when all conflicts are decided. */
const Acceptance = ({ conflicts, refused, run, tally: { undecided } }: ImportShown) => {
  const t = useWords()

  const misfits = refused?.misfits ?? []
  const misfit = misfits.find(({ field }) => field === confirmField)
  const isChosenHere = conflicts.filter(({ decision }) => decision === null).length === undecided
  return (
    <section aria-labelledby="decision">
      <h2 id="decision">{t("Your decision")}</h2>
      <p>{t("Nothing is written yet, and nobody can change the catalog until you accept or discard this import.")}</p>
      {isRemovalToConfirm(run.summary) && (
        <label class="pick">
          <input
            type="checkbox"
            name={confirmField}
            value={run.summary.unlinked}
            required
            checked={refused?.isConfirmed ?? false}
            aria-describedby={misfit && misfitId(confirmField)}
            aria-invalid={misfit && "true"}
            autofocus={misfit !== undefined && misfit === misfits[0]}
          />
          {t("Yes, remove these {count, plural, one {# item} other {# items}} from {store}", {
            count: run.summary.unlinked,
            store: run.storeDomain
          })}
        </label>
      )}
      <FieldMisfit field={confirmField} misfit={misfit} />
      {undecided > 0 && (
        <p>
          {t("{count, plural, one {# conflict is} other {# conflicts are}} undecided.", { count: undecided })}{" "}
          {isChosenHere
            ? t("Choose a value for each and accept the import with your choices.")
            : t("Choose a value for each in Conflicts and save your decisions; then you can accept the import.")}{" "}
          {t("Or decide all undecided conflicts at once:")}
        </p>
      )}
      <div class="buttons">
        {undecided === 0 ? (
          <button type="submit">{t("Accept the import")}</button>
        ) : (
          isChosenHere && <button type="submit">{t("Accept with your choices")}</button>
        )}
        {undecided > 0 &&
          restWords.map(({ name, rest }) => (
            <button key={rest} type="submit" class="plain" name={restField} value={rest}>
              {t(name)}
            </button>
          ))}
      </div>
    </section>
  )
}

/** The parts of an import that the page shows. */
interface ImportShown {
  readonly run: ImportRun
  readonly tab: ImportTab
  readonly filter: ListFilter
  /** The rows or conflicts of the tab after `after`, at most `atOnce`. */
  readonly rows: ReadonlyArray<ReviewRow>
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number | undefined
  readonly atOnce: number
  readonly tally: DecisionTally
  /** The refused form, and the problems of its fields. */
  readonly refused: (RefusedReview & { readonly misfits: ReadonlyArray<Misfit> }) | undefined
}

const Rows = ({ after, atOnce, filter, rows, run, tab }: ImportShown) => {
  const t = useWords()
  return tab === "conflicts" ? (
    run.summary.conflicts === 0 && <p class="quiet">{t("There are none.")}</p>
  ) : (
    <>
      {tab === "leaving" && rows.length > 0 && <Leaving run={run} />}
      <ImportRows run={run} tab={tab} filter={filter} rows={rows} after={after} atOnce={atOnce} />
    </>
  )
}

/** Choices and acceptance are in one form, so every button sends the choices. */
const Review = ({ csrf, ...shown }: ImportShown & { readonly csrf: string }) => {
  const t = useWords()
  return (
    <>
      <form method="post" action={paths.acceptImport}>
        <HiddenFields csrf={csrf} id={shown.run.id} />
        {shown.tab === "conflicts" && shown.run.summary.conflicts > 0 && (
          <ConflictsToDecide
            {...shown}
            after={shown.after ?? 0}
            chosen={shown.refused?.chosen ?? new Map()}
            misfits={shown.refused?.misfits ?? []}
          />
        )}
        <Acceptance {...shown} />
      </form>
      <form method="post" action={paths.discardImport} class="fields">
        <HiddenFields csrf={csrf} id={shown.run.id} />
        <div class="buttons">
          <button type="submit" class="danger">
            {t("Discard the import")}
          </button>
        </div>
      </form>
    </>
  )
}

/** The lists of the import, and under review the form that accepts it. */
const Lists = ({ csrf, ...shown }: ImportShown & { readonly csrf: string }) => {
  const t = useWords()

  const { after = 0, filter, run, tab, tally } = shown
  const title = listsTitle(run)
  const decided =
    tab === "conflicts" && run.summary.conflicts > 0 ? <ConflictsDecided {...shown} after={after} /> : null
  if (title === undefined) return decided
  return (
    <>
      <h2 id="lists">{t(title)}</h2>
      <ImportTabs run={run} current={tab} filter={filter} />
      <ListSearch run={run} tab={tab} filter={filter} toDecide={tally.undecided} />
      <Rows {...shown} />
      {run.phase === "reviewing" ? (
        <Allowed
          to="edit"
          otherwise={
            <>
              {decided}
              <p>{t("Somebody with the role Edit reviews it.")}</p>
            </>
          }
        >
          <Review {...shown} csrf={csrf} />
        </Allowed>
      ) : (
        decided
      )}
    </>
  )
}

/** Shown while a process works on the import. */
const Working = ({ run }: { readonly run: ImportRun }) => {
  const t = useWords()
  return (
    <p>
      {run.phase === "fetching"
        ? run.fileName === null
          ? t("The store is being read and compared with the catalog. Nothing is written before you accept it.")
          : t("The file is being read and compared with the catalog. Nothing is written before you accept it.")
        : run.isPaused
          ? t("The import is paused. The catalog is locked until you resume or cancel it.")
          : t("The import is being applied. The catalog is locked until then.")}{" "}
      {!run.isPaused && t("You can leave this page.")} <a href={pageOf(paths.import, run.id)}>{t("Reload")}</a>
      {run.phase === "applying" && (
        <>
          {" "}
          <a href={jobPath(run.id)}>{t(run.isPaused ? "Resume or cancel it" : "Pause or cancel it")}</a>
        </>
      )}
    </p>
  )
}

/** `reading`: the progress of reading; `now`: the time in milliseconds. */
export const ImportPage = ({
  note,
  now,
  reading,
  visitor,
  ...shown
}: ImportShown & {
  readonly visitor: Visitor
  readonly reading: ReadingProgress | undefined
  readonly now: number
  readonly note?: string | undefined
}) => {
  const t = useWords()

  const { refused, run } = shown
  return (
    <Frame title={importTitle(t, run)} visitor={visitor} current={paths.imports} isLockShown>
      {note !== undefined && (
        <Note>
          <p>{t.say(note)}</p>
        </Note>
      )}
      <Refusal text={refused?.message} />
      <Live id="import" on={[`import:${run.id}`]} says={progressSentence(t, run, reading)}>
        {run.error !== null && (
          <Alert>
            <p>{t.say(run.error)}</p>
          </Alert>
        )}
        <StepsOf run={run} reading={reading} />
        {(run.phase === "fetching" || run.phase === "applying") && <Working run={run} />}
        <ProgressOf run={run} reading={reading} now={now} />
        <Details run={run} />
        <Problems {...run.summary} />
        {isRead(run) && <Summary run={run} />}
        <Lists {...shown} csrf={visitor.csrf} />
      </Live>
      <p>
        <a href={paths.imports}>{t("All imports")}</a>
      </p>
    </Frame>
  )
}
