import type { Store } from "../model/Store.ts"
import type { fieldState } from "./Field.tsx"
import { useWords } from "./Viewer.tsx"

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

/** A form field that selects a store. The empty choice means all stores; with `isRequired` there is no empty choice. */
export const StoreChoice = ({
  chosen,
  isRequired = false,
  label,
  state,
  stores
}: {
  readonly stores: ReadonlyArray<Store>
  readonly chosen: string | undefined
  readonly label?: string
  readonly isRequired?: boolean
  /** The ARIA attributes of the field. */
  readonly state?: ReturnType<typeof fieldState>
}) => {
  const t = useWords()
  return (
    <label>
      {label ?? t("Store")}
      <select name="store_id" required={isRequired} {...state}>
        <option value="">{isRequired ? t("Choose a store") : t("All stores")}</option>
        <StoreOptions stores={stores} chosen={chosen} />
      </select>
    </label>
  )
}
