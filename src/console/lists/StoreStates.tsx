import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Store } from "../../model/Store.ts"
import { type PublishStateName, publishStateOf, publishStates } from "../Naming.tsx"
import { useWords } from "../Viewer.tsx"
import { shorten } from "../Wording.tsx"

/** The worst first. */
const order: ReadonlyArray<PublishStateName> = ["failed", "waiting", "publishing", "changed", "unpublished", "live"]

/** Maximum number of stores that are named at once. More are shown as a number. */
const maxNamed = 3

/** The stores of one state. If they are too many to name, they are named when the number is opened. */
const StoreNames = ({ all, names }: { readonly names: ReadonlyArray<string>; readonly all: number }) => {
  const t = useWords()
  if (names.length === all && all > 1)
    return <span class="quiet">{t("on all {count, plural, one {# store} other {# stores}}", { count: all })}</span>
  if (names.length <= maxNamed) return <bdi class="quiet">{names.map((name) => shorten(name, 24)).join(t(", "))}</bdi>
  return (
    <details class="named">
      <summary class="quiet">
        {t("on {count, plural, one {# store} other {# stores}}", { count: names.length })}
      </summary>
      <bdi>{t.list(names)}</bdi>
    </details>
  )
}

/** The state on each store, the worst first: a dot, the word, and the stores. */
export const StoreStates = ({
  states,
  stores
}: {
  readonly states: ListedEntity["states"]
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()

  const stateOn = new Map(
    states.map((each) => [each.storeId, publishStateOf(each.status, each.pendingPublish, each.isDelayed)])
  )
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
            <span class={`state ${tone}`}>{t(name)}</span> <StoreNames names={on} all={stores.length} />
          </li>
        )
      })}
      {absent.length > 0 && (
        <li>
          <span class="state idle">{t("Not on")}</span>{" "}
          {absent.length === stores.length ? (
            <span class="quiet">{t("any store")}</span>
          ) : (
            <StoreNames names={absent} all={0} />
          )}
        </li>
      )}
    </ul>
  )
}
