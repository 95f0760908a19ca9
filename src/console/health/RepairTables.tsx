import type { ComponentChildren } from "preact"
import type { Store } from "../../model/Store.ts"
import { controlOf } from "../entities/CellInput.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { directionOf, marketOf } from "../entities/StoreLanguage.ts"
import { Alert, Hidden, HiddenFields, Note } from "../Frame.tsx"
import { Island } from "../Island.tsx"
import type { Words } from "../languages/Words.tsx"
import { EntityLink } from "../Naming.tsx"
import { issuesPath, paths } from "../Paths.ts"
import { Thumbnail } from "../pictures/Thumbnail.tsx"
import { StoreOptions } from "../StoreChoice.tsx"
import { Table } from "../Table.tsx"
import { readable, Value } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"
import { ShortValue, shorten } from "../Wording.tsx"
import type { RepairContent } from "./RepairContent.ts"
import { repairFields, rowText } from "./RepairForms.ts"
import { type EqualRow, type FillRow, inCatalog } from "./RepairRows.ts"
import { maxRepaired, type Outcome } from "./Repairs.ts"

/** How many rows were repaired, and why the others were not. */
export const OutcomeOf = ({ outcome: { refused, repaired } }: { readonly outcome: Outcome }) => {
  const t = useWords()
  const total = repaired + refused.length
  const words = t("Repaired {repaired, number} of {all, number}.", { repaired, all: total })
  const drafts = t.rich("These are drafts: nothing is published yet. <link>Show the changed products</link>", {
    link: (text) => <a href={`${paths.products}?state=changed`}>{text}</a>
  })
  if (refused.length === 0)
    return (
      <Note>
        {words} {drafts}
      </Note>
    )
  const reasons = new Map<string, number>()
  for (const { refusal = "" } of refused) reasons.set(refusal, (reasons.get(refusal) ?? 0) + 1)
  return (
    <Alert>
      <p>
        <strong>{words}</strong>
        {repaired > 0 && <> {drafts}</>}
      </p>
      <ul>
        {[...reasons].map(([reason, count]) => (
          <li key={reason}>{t("{count, number} not repaired: {reason}", { count, reason: t.say(reason) })}</li>
        ))}
      </ul>
    </Alert>
  )
}

/** The first fields of a form that repairs, and the filters to which it leads back. */
const RepairForm = ({
  action,
  children,
  content: { filters, page, visitor },
  name
}: {
  readonly content: RepairContent
  readonly action: string
  readonly name: string
  readonly children: ComponentChildren
}) => (
  <form method="post" action={action} class="repair" aria-label={name}>
    <HiddenFields csrf={visitor.csrf} />
    <Hidden
      of={[
        ["section", page.section],
        ["page", String(page.page)],
        ["store_id", filters.storeId],
        ["field", filters.field]
      ]}
    />
    {children}
  </form>
)

const Thing = ({
  content: { address, pictures },
  row
}: {
  readonly content: RepairContent
  readonly row: FillRow | EqualRow
}) => {
  const t = useWords()
  const listed = pictures.get(row.entityId)
  return (
    <div class="item">
      <Thumbnail picture={listed?.picture ?? null} width={40} address={address} />
      <div>
        <EntityLink id={row.entityId} kind={row.kind} title={row.title} />
        {row.kind === "variant" && listed !== undefined && (
          <div class="quiet">
            {[listed.parentTitle, listed.sku].filter((text) => text !== null && text !== "").join(t(", "))}
          </div>
        )}
      </div>
    </div>
  )
}

const nameOf = (t: Words, stores: ReadonlyArray<Store>, id: string) =>
  stores.find((store) => store.id === id)?.name ?? t("a store")

const refusalId = (number: number) => `refusal-${number}`

const RefusalAt = ({ number, text }: { readonly number: number; readonly text: string | undefined }) => {
  const t = useWords()
  return text === undefined ? null : (
    <p class="refusal" id={refusalId(number)}>
      {t.say(text)}
    </p>
  )
}

const Input = ({
  content,
  number,
  row
}: {
  readonly content: RepairContent
  readonly number: number
  readonly row: FillRow
}) => {
  const t = useWords()
  const control = controlOf(row.row, row.typed)
  const store = content.stores.find(({ id }) => id === row.where)
  // If the field is empty on one store only, the value of the catalog shows what is meant. It is not saved unless somebody types it.
  const ofCatalog = shorten(readable(row.row.cells[0].value, row.row.type), 200)
  const hint = "hint" in control && control.hint !== undefined ? t.say(control.hint) : undefined
  const placeholder = ofCatalog === "" ? hint : t("Catalog: {value}", { value: ofCatalog })
  const common = {
    name: `${repairFields.value}${number}`,
    "aria-label": t("{field} of {things}", { field: fieldName(t, row.field), things: row.title }),
    ...(row.refusal !== undefined && {
      "aria-invalid": "true" as const,
      "aria-describedby": refusalId(number),
      ...(content.firstRefused === row && { autofocus: true })
    }),
    ...(store !== undefined && { lang: store.primary_locale, dir: directionOf(store.primary_locale) })
  }
  return control._tag === "Choice" ? (
    <select {...common}>
      {["", ...control.choices].map((choice) => (
        <option key={choice} value={choice} selected={choice === row.typed}>
          {choice === "" ? t("Leave empty") : choice}
        </option>
      ))}
    </select>
  ) : control._tag === "Area" ? (
    // Browsers drop the first line break of a text area.
    <textarea {...common} rows={2} placeholder={placeholder}>{`\n${row.typed}`}</textarea>
  ) : (
    <input
      {...common}
      type="text"
      inputMode={control.inputMode}
      value={row.typed}
      placeholder={placeholder}
      autocomplete="off"
    />
  )
}

/** Where the value goes: into the catalog for all stores, or to one store. */
const Where = ({
  content,
  number,
  row
}: {
  readonly content: RepairContent
  readonly number: number
  readonly row: FillRow
}) => {
  const t = useWords()
  const name = `${repairFields.where}${number}`
  if (!row.fitsCatalog)
    return (
      <>
        <input type="hidden" name={name} value={row.where} />
        <bdi>{nameOf(t, content.stores, row.where)}</bdi>
      </>
    )
  return (
    <select
      name={name}
      aria-label={t("Where to fill {field} of {title}", { field: fieldName(t, row.field), title: row.title })}
    >
      <option value={inCatalog}>{t("All stores (catalog)")}</option>
      {row.storeIds.map((id) => (
        <option key={id} value={id} selected={row.where === id}>
          {t("Only {store}", { store: nameOf(t, content.stores, id) })}
        </option>
      ))}
    </select>
  )
}

/** The button that repairs the whole list, or as many of its first rows as one repair may have. */
const WholeListButton = ({
  first,
  rows,
  whole
}: {
  readonly rows: number
  readonly first: string
  readonly whole: string
}) => (
  <button type="submit" class="plain" name={repairFields.does} value="all">
    {rows > maxRepaired ? first : whole}
  </button>
)

/** Buttons that use one value for many rows. */
const CommonValue = ({ content }: { readonly content: RepairContent }) => {
  const t = useWords()
  const { filters, rows, typed = "" } = content
  return (
    <div class="line common">
      <label>
        {t("The same value for several rows")}
        <input type="text" name={repairFields.common} value={typed} autocomplete="off" />
      </label>
      <button type="submit" class="plain" name={repairFields.does} value="spread">
        {t("Put it into the empty rows")}
      </button>
      {filters.field !== undefined && (
        <WholeListButton
          rows={rows}
          first={t("Fill the first {count, number} of this list with it", { count: maxRepaired })}
          whole={t("Fill the whole list with it")}
        />
      )}
    </div>
  )
}

/** The name of a row's field, as a link to its issues, and the hidden field that identifies the row. */
const FieldOfRow = ({
  content: { filters, page },
  number,
  row
}: {
  readonly content: RepairContent
  readonly number: number
  readonly row: FillRow | EqualRow
}) => (
  <>
    <a href={issuesPath(page.section, { ...filters, field: row.field })} class="calm">
      {fieldName(useWords(), row.field)}
    </a>
    <input type="hidden" name={`${repairFields.row}${number}`} value={rowText({ ...row, type: row.row.type })} />
  </>
)

/** The empty fields of a page, each with a control. */
export const FillTable = ({
  content,
  rows
}: {
  readonly content: RepairContent
  readonly rows: ReadonlyArray<FillRow>
}) => {
  const t = useWords()
  return (
    <RepairForm content={content} action={paths.fillIssues} name={t("Fill empty fields")}>
      <Table
        name={t("Empty fields")}
        columns={[t("Name"), t("Field"), t("Where"), t("Value")]}
        rows={rows.map((row, number) => ({
          key: `${row.entityId} ${row.field} ${row.where}`,
          cells: [
            <Thing content={content} row={row} />,
            <FieldOfRow content={content} number={number} row={row} />,
            <Where content={content} number={number} row={row} />,
            <>
              <Input content={content} number={number} row={row} />
              <RefusalAt number={number} text={row.refusal} />
            </>
          ]
        }))}
      />
      <div class="actionbar">
        <span>{t("Leave empty what you do not know. Values are saved as drafts.")}</span>
        <button type="submit">{t("Fill")}</button>
      </div>
      <CommonValue content={content} />
    </RepairForm>
  )
}

const Choice = ({ number, row, store }: { readonly number: number; readonly row: EqualRow; readonly store: Store }) => {
  const t = useWords()
  const cell = row.row.cells.find(({ storeId }) => storeId === store.id)
  if (cell === undefined) return <span class="quiet">{t("Not on this store")}</span>
  const shown = (
    <span lang={store.primary_locale} dir={directionOf(store.primary_locale)}>
      {cell.value === "" ? (
        <ShortValue>{""}</ShortValue>
      ) : (
        <Value text={shorten(readable(cell.value, row.row.type), 160)} />
      )}
    </span>
  )
  return row.choosable.includes(store.id) ? (
    <label class="pick">
      <input
        type="radio"
        name={`${repairFields.where}${number}`}
        value={store.id}
        checked={row.winner === store.id}
        aria-label={`${store.name}: ${shorten(readable(cell.value, row.row.type), 80) || t("empty")}`}
        {...(row.refusal !== undefined && { "aria-describedby": refusalId(number) })}
      />{" "}
      {shown}
    </label>
  ) : (
    <span class="quiet">{shown}</span>
  )
}

/** The fields of a page whose values differ: all stores side by side, to choose one. */
export const EqualTable = ({
  content,
  rows
}: {
  readonly content: RepairContent
  readonly rows: ReadonlyArray<EqualRow>
}) => {
  const t = useWords()
  return (
    <RepairForm content={content} action={paths.equalIssues} name={t("Make equal")}>
      <p class="quiet">
        {t(
          "The chosen value goes to the stores of the same language or currency. Grey values are not compared. It is saved as drafts."
        )}
      </p>
      <div class="wide">
        <Table
          name={t("Values that differ")}
          columns={[t("Name"), t("Field"), t("Catalog"), ...content.stores.map(({ name }) => name)]}
          notes={[undefined, undefined, t("All stores"), ...content.stores.map((each) => marketOf(t, each))]}
          rows={rows.map((row, number) => ({
            key: `${row.entityId} ${row.field}`,
            cells: [
              <Thing content={content} row={row} />,
              <>
                <FieldOfRow content={content} number={number} row={row} />
                <RefusalAt number={number} text={row.refusal} />
              </>,
              <span class="quiet">
                <ShortValue>{readable(row.row.cells[0].value, row.row.type)}</ShortValue>
              </span>,
              ...content.stores.map((store) => <Choice key={store.id} number={number} row={row} store={store} />)
            ]
          }))}
        />
      </div>
      <div class="actionbar">
        <label for={repairFields.common}>
          {t.rich("Where nothing is chosen, use {choice}", {
            choice: (
              <select id={repairFields.common} name={repairFields.common}>
                <option value="">{t("nothing")}</option>
                <StoreOptions stores={content.stores} chosen={content.typed} />
              </select>
            )
          })}
        </label>
        <button type="submit">{t("Make equal")}</button>
        {content.rows > 0 && (
          <WholeListButton
            rows={content.rows}
            first={t("Use it for the first {count, number} of this list", { count: maxRepaired })}
            whole={t("Use it for the whole list")}
          />
        )}
      </div>
    </RepairForm>
  )
}

/** The failed publishes of a page, each with a checkbox. */
export const RetryTable = ({ content }: { readonly content: RepairContent }) => {
  const t = useWords()
  return (
    <RepairForm content={content} action={paths.retryIssues} name={t("Retry failed publishes")}>
      <Island name="SelectAll" prefix={repairFields.retry} all={content.page.data.length} />
      <Table
        name={t("Failed publishes")}
        columns={[t("Name"), t("Store"), t("Why it failed")]}
        rows={content.page.data.map((issue) => ({
          key: `${issue.entity_id} ${issue.store_id}`,
          cells: [
            <div class="item">
              <input
                type="checkbox"
                name={`${repairFields.retry}${issue.store_id}-${issue.entity_id}`}
                value="yes"
                aria-label={t("Select {title} on {store}", {
                  title: issue.title,
                  store: nameOf(t, content.stores, issue.store_id)
                })}
              />
              <Thumbnail
                picture={content.pictures.get(issue.entity_id)?.picture ?? null}
                width={40}
                address={content.address}
              />
              <div>
                <EntityLink id={issue.entity_id} kind={issue.entity_type} title={issue.title} />
                {issue.sku !== undefined && issue.sku !== "" && <div class="quiet">{issue.sku}</div>}
              </div>
            </div>,
            <bdi>{nameOf(t, content.stores, issue.store_id)}</bdi>,
            t.say(issue.last_publish_error?.message ?? "The last publish to the store failed.")
          ]
        }))}
      />
      <div class="actionbar">
        <button type="submit">{t("Retry the selected")}</button>
        <WholeListButton
          rows={content.rows}
          first={t("Retry the first {count, number} of this list", { count: maxRepaired })}
          whole={t("Retry the whole list")}
        />
      </div>
    </RepairForm>
  )
}
