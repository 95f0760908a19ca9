import type { Store } from "../domain/Store.ts"

/** The field of a form that names a store, or, left as it is, all of them. */
export const StoreChoice = ({
  chosen,
  label = "Store",
  stores
}: {
  readonly stores: ReadonlyArray<Store>
  readonly chosen: string | undefined
  readonly label?: string
}) => (
  <label>
    {label}
    <select name="store_id">
      <option value="">All stores</option>
      {stores.map(({ domain, id, name }) => (
        <option key={id} value={id} selected={id === chosen}>
          {name === domain ? domain : `${name} (${domain})`}
        </option>
      ))}
    </select>
  </label>
)
