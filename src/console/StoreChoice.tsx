import type { Store } from "../model/Store.ts"

export const StoreOptions = ({
  chosen,
  stores
}: {
  readonly chosen: string | undefined
  readonly stores: ReadonlyArray<Store>
}) => (
  <>
    {stores.map(({ domain, id, name }) => (
      <option key={id} value={id} selected={id === chosen}>
        {name === domain ? domain : `${name} (${domain})`}
      </option>
    ))}
  </>
)

/** The field of a form that chooses a store. Without a choice it means all stores, unless one is required. */
export const StoreChoice = ({
  chosen,
  isRequired = false,
  label = "Store",
  stores
}: {
  readonly stores: ReadonlyArray<Store>
  readonly chosen: string | undefined
  readonly label?: string
  readonly isRequired?: boolean
}) => (
  <label>
    {label}
    <select name="store_id" required={isRequired}>
      <option value="">{isRequired ? "Choose a store" : "All stores"}</option>
      <StoreOptions stores={stores} chosen={chosen} />
    </select>
  </label>
)
