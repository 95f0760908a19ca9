import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Store } from "../../model/Store.ts"
import type { Words } from "../languages/Words.tsx"
import { type PublishStateName, publishStateOf, publishStates } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"
import { shorten } from "../Wording.tsx"

/** The worst first. */
const order: ReadonlyArray<PublishStateName> = ["failed", "publishing", "changed", "unpublished", "live"]

/** Maximum number of stores that are named. More are shown as a number. */
const maxNamed = 3

const storesOf = (t: Words, names: ReadonlyArray<string>, all: number) =>
  names.length === all && all > 1
    ? t("on all {count, plural, one {# store} other {# stores}}", { count: all })
    : names.length > maxNamed
      ? t("on {count, plural, one {# store} other {# stores}}", { count: names.length })
      : names.map((name) => shorten(name, 24)).join(", ")

/** The state on each store, the worst first: a dot, the word, and the stores. */
export const StoreStates = ({
  states,
  stores
}: {
  readonly states: ListedEntity["states"]
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()

  const stateOn = new Map(states.map((each) => [each.storeId, publishStateOf(each.status, each.pendingPublish)]))
  const storesIn = (of: PublishStateName | undefined) =>
    stores.filter(({ id }) => stateOn.get(id) === of).map(({ name }) => name)
  const absent = storesIn(undefined)
  return (
    <ul class="states">
      {order.map((state) => {
        const on = storesIn(state)
        const { name, tone } = publishStates[state]
        return on.length === 0 ? null : (
          <li key={state}>
            <span class={`state ${tone}`}>{t(name)}</span> <bdi class="quiet">{storesOf(t, on, stores.length)}</bdi>
          </li>
        )
      })}
      {absent.length > 0 && (
        <li>
          <span class="state idle">{t("Not on")}</span>{" "}
          <bdi class="quiet">{absent.length === stores.length ? t("any store") : storesOf(t, absent, 0)}</bdi>
        </li>
      )}
    </ul>
  )
}
