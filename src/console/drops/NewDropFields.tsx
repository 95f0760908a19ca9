import { timeZones } from "../../access/Profile.ts"
import type { MerchantPage } from "../../catalog/MerchantLists.ts"
import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { DropThing } from "../../drops/Composition.ts"
import { instantsOf } from "../../drops/Zone.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { KeyRules } from "../../model/KeyRules.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { type FormState, Labelled } from "../Field.tsx"
import type { PictureAddress } from "../pictures/PictureAddresses.ts"
import { useWords } from "../Viewer.tsx"
import type { DropForm, Fold } from "./DropForm.ts"
import { timeOfDay } from "./DropWords.tsx"

/** The content of the form's page. `results`: of the search; undefined: none was made. */
export interface NewDropContent extends FormState {
  readonly visitor: Visitor
  readonly form: DropForm
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
}

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
      <Labelled form={content} field="name" label={t("Name")}>
        {(attributes) => (
          <input type="text" value={name} maxLength={200} dir="auto" autocomplete="off" {...attributes} />
        )}
      </Labelled>
      <div class="three">
        <div>
          <Labelled form={content} field="starts" label={t("Starts")}>
            {(attributes) => <input type="datetime-local" value={starts} {...attributes} />}
          </Labelled>
          <FoldChoice field="starts" text={starts} zone={zone} chosen={startsFold} />
        </div>
        <div>
          <Labelled
            form={content}
            field="ends"
            label={t("Ends")}
            rule={t("The earlier values come back. Empty: the new values stay.")}
          >
            {(attributes) => <input type="datetime-local" value={ends} {...attributes} />}
          </Labelled>
          <FoldChoice field="ends" text={ends} zone={zone} chosen={endsFold} />
        </div>
        <Labelled form={content} field="zone" label={t("Time zone")} rule={t("For the start and the end.")}>
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
