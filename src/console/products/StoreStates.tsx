import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import type { Store } from "../../model/Store.ts"
import { type PublishStateName, publishStateOf, publishStates } from "../Naming.tsx"
import { shorten } from "../Wording.tsx"

/** The worst first. */
const order: ReadonlyArray<PublishStateName> = ["failed", "publishing", "changed", "unpublished", "live"]

/** Maximum number of stores that are named. More are shown as a number. */
const maxNamed = 3

const storesOf = (names: ReadonlyArray<string>, all: number) =>
  names.length === all && all > 1
    ? `on all ${all} stores`
    : names.length > maxNamed
      ? `on ${names.length} stores`
      : names.map((name) => shorten(name, 24)).join(", ")

/** The state on each store, the worst first: a dot, the word, and the stores. */
export const StoreStates = ({
  states,
  stores
}: {
  readonly states: ListedEntity["states"]
  readonly stores: ReadonlyArray<Store>
}) => {
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
            <span class={`state ${tone}`}>{name}</span> <bdi class="quiet">{storesOf(on, stores.length)}</bdi>
          </li>
        )
      })}
      {absent.length > 0 && (
        <li>
          <span class="state idle">Not on</span>{" "}
          <bdi class="quiet">{absent.length === stores.length ? "any store" : storesOf(absent, 0)}</bdi>
        </li>
      )}
    </ul>
  )
}
