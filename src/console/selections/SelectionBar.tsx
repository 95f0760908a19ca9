import type { EntityKind } from "../../model/Attribute.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { Hidden } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import type { ListQuery } from "../lists/ListFilters.tsx"
import { paths } from "../Paths.ts"
import { StoreOptions } from "../StoreChoice.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { fields, listFieldsOf } from "./SelectionForm.ts"

const Publish = ({
  chosen,
  stores
}: {
  readonly stores: ReadonlyArray<Store>
  readonly chosen: string | undefined
}) => {
  const t = useWords()
  const open = stores.filter(({ platform }) => platform !== filesOnly)
  return open.length === 0 ? null : (
    <Allowed to="publish">
      <span>{t("Publish the selected to")}</span>
      <select name={fields.publishTo} aria-label={t("Store to publish to")}>
        <StoreOptions stores={open} chosen={chosen} />
      </select>
      <button type="submit" formaction={paths.publishListed}>
        <Icon name="send" />
        {t("Review and publish")}
      </button>
      <button type="submit" class="plain" formaction={paths.cancelListed}>
        {t("Cancel publishes")}
      </button>
      <button type="submit" class="plain" formaction={paths.scheduleSelected}>
        <Icon name="calendar-clock" />
        {t("Schedule")}
      </button>
    </Allowed>
  )
}

/** The actions on the selected entities of a list. They are the buttons of the form that contains the list. */
export const SelectionBar = ({
  kind,
  query,
  stores
}: {
  readonly kind: EntityKind
  readonly query: ListQuery
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()
  return (
    <div class="selection">
      <Hidden of={listFieldsOf(kind, query)} />
      <Publish stores={stores} chosen={query.store_id} />
      <Allowed to="edit">
        <button type="submit" class="plain" formaction={paths.setSelected}>
          {t("Set a field")}
        </button>
        {stores.length > 0 && (
          <>
            <button type="submit" class="plain" formaction={paths.addSelected}>
              <Icon name="store" />
              {t("Add to a store")}
            </button>
            <button type="submit" class="plain" formaction={paths.removeSelected}>
              {t("Take off a store")}
            </button>
          </>
        )}
        <button type="submit" class="plain" formaction={paths.deleteSelected}>
          {t("Delete")}
        </button>
      </Allowed>
      <button type="submit" class="plain" formaction={paths.exportSelected}>
        {t("Export the selected")}
      </button>
    </div>
  )
}
