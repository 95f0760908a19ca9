import type { Store } from "../model/Store.ts"

/** The field of a form that names a store; left as it is, all of them, or none where one must be chosen. */
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
      {stores.map(({ domain, id, name }) => (
        <option key={id} value={id} selected={id === chosen}>
          {name === domain ? domain : `${name} (${domain})`}
        </option>
      ))}
    </select>
  </label>
)
