import { Option } from "effect"
import type { ImportRun } from "../../imports/Import.ts"
import type { Store } from "../../model/Store.ts"
import { uploadMegabytes, type Visitor } from "../Browser.ts"
import { FieldMisfit, fieldState, type Misfit } from "../Field.tsx"
import { Frame, HiddenFields, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Words } from "../languages/Words.tsx"
import { Domain, importTitle } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { isRead, PhaseOf } from "./ImportPhases.tsx"
import { progressSentence } from "./ImportProgress.tsx"

/** The changes of an import, in one line. */
const summaryOf = (t: Words, run: ImportRun): string => {
  const { phase, summary } = run
  if (phase === "fetching") return t("Not known yet")
  if (!isRead(run)) return t("Nothing was read")
  const { collections, conflicts, created, files, unchanged, unlinked, updated } = summary
  const others = collections.created + collections.updated + files.created + files.updated
  const parts = [
    t("Products: {created, number} new, {updated, number} changed, {unchanged, number} unchanged", {
      created,
      updated,
      unchanged
    }),
    ...(others > 0 ? [t("{count, plural, one {# other change} other {# other changes}}", { count: others })] : []),
    ...(unlinked > 0 ? [t("{count, number} no longer in the store", { count: unlinked })] : []),
    ...(conflicts > 0 ? [t("{count, plural, one {# conflict} other {# conflicts}}", { count: conflicts })] : [])
  ]
  return parts.join("; ")
}

/** `older`: the number of imports before the next page; null: there is no next page. */
const Pages = ({ from, older }: { readonly from: number; readonly older: number | null }) => {
  const t = useWords()
  return (
    <nav class="pages" aria-label={t("Pages of imports")}>
      {from > 0 && <a href={paths.imports}>{t("To the newest")}</a>}
      {older !== null && <a href={`${paths.imports}?from=${older}`}>{t("Older imports")}</a>}
    </nav>
  )
}

/** The form that uploads a product export. While an import locks the account, a link to that import instead. */
const Upload = ({
  chosen,
  csrf,
  holder,
  misfit,
  stores
}: {
  readonly csrf: string
  /** The store that a refused form has chosen. */
  readonly chosen: string | undefined
  readonly misfit: Misfit | undefined
  readonly stores: ReadonlyArray<Store>
  readonly holder: Option.Option<ImportRun>
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="upload">
      <h2 id="upload">{t("Import a product export")}</h2>
      {Option.isSome(holder) ? (
        <p class="quiet">
          {t.rich(
            holder.value.phase === "applying"
              ? "A file can be imported when {import} is applied."
              : "A file can be imported when {import} is accepted or discarded.",
            { import: <a href={pageOf(paths.import, holder.value.id)}>{importTitle(t, holder.value)}</a> }
          )}
        </p>
      ) : (
        <form class="sheet line" method="post" action={paths.imports} enctype="multipart/form-data">
          <HiddenFields csrf={csrf} />
          <div>
            <StoreChoice
              stores={stores}
              chosen={chosen ?? (stores.length === 1 ? stores[0]?.id : undefined)}
              isRequired
              state={fieldState(misfit, "store_id")}
            />
            <FieldMisfit field="store_id" misfit={misfit} />
          </div>
          <div>
            <label>
              {t("Shopify export (CSV, up to {megabytes, number} MB)", { megabytes: uploadMegabytes })}
              <input
                type="file"
                name="file"
                accept=".csv,.tsv,.txt,text/csv"
                required
                {...fieldState(misfit, "file")}
              />
            </label>
            <FieldMisfit field="file" misfit={misfit} />
          </div>
          <button type="submit">{t("Read the file")}</button>
        </form>
      )}
    </section>
  )
}

/** `runs`: one page of imports, newest first, without the first `from`; `holder`: the import that locks the account. */
export const ImportsPage = ({
  chosen,
  from,
  hasMore,
  holder,
  misfit,
  runs,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly holder: Option.Option<ImportRun>
  readonly runs: ReadonlyArray<ImportRun>
  readonly from: number
  /** Whether there are older imports than these. */
  readonly hasMore: boolean
  /** The store of the form that was refused, and its problem. */
  readonly chosen?: string | undefined
  readonly misfit?: Misfit | undefined
}) => {
  const t = useWords()
  return (
    <Frame title={t("Imports")} visitor={visitor} current={paths.imports}>
      <p>
        {t.rich(
          "Imports from your stores, newest first. An import changes nothing until you accept it. Refresh a store with a platform under <link>Stores</link>. For other stores, import a file.",
          { link: (words) => <a href={paths.stores}>{words}</a> }
        )}
      </p>
      <Live
        id="imports"
        on={["import"]}
        says={runs
          .filter(({ phase }) => phase === "fetching" || phase === "applying")
          .map((run) => progressSentence(t, run, undefined))
          .join(" ")}
      >
        {runs.length === 0 ? (
          <p class="quiet">{from === 0 ? t("There are no imports yet.") : t("There are no more imports.")}</p>
        ) : (
          <Table
            columns={[t("Import"), t("State"), t("Changes"), t("Began"), t("Last change")]}
            rows={runs.map((run) => ({
              key: run.id,
              cells: [
                <>
                  <a href={pageOf(paths.import, run.id)}>{run.fileName ?? t("Refresh")}</a>
                  <div class="quiet">
                    <Domain name={run.storeDomain} />
                  </div>
                </>,
                <PhaseOf phase={run.phase} />,
                <>
                  {summaryOf(t, run)}
                  {run.error !== null && <div class="wrong">{t.say(run.error)}</div>}
                </>,
                <Time at={run.createdAt} />,
                <Time at={run.updatedAt} />
              ]
            }))}
          />
        )}
      </Live>
      {(from > 0 || hasMore) && <Pages from={from} older={hasMore ? from + runs.length : null} />}
      {stores.length > 0 && (
        <Allowed to="edit">
          <Upload csrf={visitor.csrf} stores={stores} holder={holder} chosen={chosen} misfit={misfit} />
        </Allowed>
      )}
    </Frame>
  )
}
