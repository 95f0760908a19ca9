import type { ComponentChildren, JSX } from "preact"
import { timeZones } from "../../access/Profile.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { DropThing } from "../../drops/Composition.ts"
import { instantsOf } from "../../drops/Zone.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { KeyRules } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import type { Misfit } from "../Field.tsx"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { useWords } from "../Viewer.tsx"
import type { DropForm, Fold } from "./DropForm.ts"
import { timeOfDay } from "./DropWords.tsx"

/** The content of the form's page. `misfits`: the first one gets the focus. `results`: of the search; undefined: none was made. */
export interface NewDropContent {
  readonly visitor: Visitor
  readonly form: DropForm
  readonly misfits: ReadonlyArray<Misfit>
  /** null: all stores. */
  readonly store: Store | null
  /** The chosen things. */
  readonly things: ReadonlyArray<DropThing>
  /** Number of products of each chosen collection. */
  readonly memberCounts: ReadonlyMap<EntityId, number>
  /** Whether the products of the chosen collections are chosen too: at first, they are. */
  readonly ticksMembers: boolean
  readonly results:
    | {
        readonly page: MerchantPage
        /** The newest results that are not chosen yet. */
        readonly others: ReadonlyArray<ListedEntity>
        /** Whether there are more. */
        readonly isPart: boolean
      }
    | undefined
  /** Whether the drop can be on another store. */
  readonly hasOtherStores: boolean
  readonly rules: KeyRules
  readonly address: PictureAddress
  /** The field that gets the focus if nothing is wrong. */
  readonly focus?: string | undefined
}

export const idOf = (field: string) => field.replaceAll(/[^\w-]/g, "_")

/** The attributes of a control: its name, and what is wrong with it. */
export const stateOf = (
  { focus, misfits }: Pick<NewDropContent, "focus" | "misfits">,
  field: string,
  rule?: string
) => {
  const isMisfit = misfits.some((misfit) => misfit.field === field)
  const described = [
    ...(isMisfit ? [`${idOf(field)}-misfit`] : []),
    ...(rule === undefined ? [] : [`${idOf(field)}-rule`])
  ]
  return {
    id: idOf(field),
    name: field,
    ...(isMisfit && { "aria-invalid": "true" as const }),
    ...((misfits[0]?.field ?? focus) === field && { autofocus: true }),
    ...(described.length > 0 && { "aria-describedby": described.join(" ") })
  }
}

export const Misfits = ({ field, misfits }: { readonly field: string; readonly misfits: ReadonlyArray<Misfit> }) => {
  const t = useWords()
  const own = misfits.filter((misfit) => misfit.field === field)
  return own.length === 0 ? null : (
    <p class="wrong" id={`${idOf(field)}-misfit`}>
      {own.map(({ message }) => t.say(message)).join(" ")}
    </p>
  )
}

/** A labelled control, the rule below it, and its problems. */
export const Labelled = ({
  children,
  content,
  field,
  label,
  rule
}: {
  readonly content: Pick<NewDropContent, "focus" | "misfits">
  readonly field: string
  readonly label: ComponentChildren
  readonly rule?: string
  readonly children: (attributes: ReturnType<typeof stateOf>) => JSX.Element
}) => (
  <div>
    <label for={idOf(field)}>{label}</label>
    {children(stateOf(content, field, rule))}
    <Misfits field={field} misfits={content.misfits} />
    {rule !== undefined && (
      <p class="quiet hint" id={`${idOf(field)}-rule`}>
        {rule}
      </p>
    )}
  </div>
)

/** The choice between two instants of one local time. */
const FoldChoice = ({
  chosen,
  field,
  text,
  zone
}: {
  readonly field: "starts" | "ends"
  readonly text: string
  readonly zone: string
  readonly chosen: Fold
}) => {
  const t = useWords()
  const found = text === "" || !isKnownZone(zone) ? undefined : instantsOf(text, zone)
  return found?._tag !== "Twice" ? null : (
    <label>
      {t("Which {time}?", { time: text.slice(11, 16) })}
      <select name={`${field}_fold`}>
        <option value="">{t("Choose one")}</option>
        <option value="first" selected={chosen === "first"}>
          {t("The first, {time} UTC", { time: timeOfDay(t, found.first, "UTC") })}
        </option>
        <option value="second" selected={chosen === "second"}>
          {t("The second, {time} UTC", { time: timeOfDay(t, found.second, "UTC") })}
        </option>
      </select>
    </label>
  )
}

export const isKnownZone = (zone: string): boolean => zone === "UTC" || timeZones.includes(zone)

/** The name and the times. */
export const When = (content: NewDropContent) => {
  const t = useWords()
  const { ends, endsFold, name, starts, startsFold, zone } = content.form
  return (
    <section class="sheet step" aria-labelledby="when">
      <h2 id="when">{t("When")}</h2>
      <Labelled content={content} field="name" label={t("Name")}>
        {(attributes) => (
          <input type="text" value={name} maxLength={200} dir="auto" autocomplete="off" {...attributes} />
        )}
      </Labelled>
      <div class="three">
        <div>
          <Labelled content={content} field="starts" label={t("Starts")}>
            {(attributes) => <input type="datetime-local" value={starts} {...attributes} />}
          </Labelled>
          <FoldChoice field="starts" text={starts} zone={zone} chosen={startsFold} />
        </div>
        <div>
          <Labelled
            content={content}
            field="ends"
            label={t("Ends")}
            rule={t("The earlier values come back. Empty: the new values stay.")}
          >
            {(attributes) => <input type="datetime-local" value={ends} {...attributes} />}
          </Labelled>
          <FoldChoice field="ends" text={ends} zone={zone} chosen={endsFold} />
        </div>
        <Labelled content={content} field="zone" label={t("Time zone")} rule={t("For the start and the end.")}>
          {(attributes) => (
            <select {...attributes}>
              {["UTC", ...timeZones].map((each) => (
                <option key={each} value={each} selected={each === zone}>
                  {each}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
    </section>
  )
}
