import type { ComponentChildren } from "preact"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Hidden, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { Text } from "../Wording.tsx"
import { allStores, type DropForm, hiddenFieldsOf, newDropWith, storeField } from "./DropForm.ts"

/** A store to choose, with the time zone of its times if it is known, and the number of chosen things that it has. */
interface StoreToChoose {
  readonly store: Store
  readonly zone: string | undefined
  readonly things: number
}

/**
 * The first step: the store. `things`: they are chosen already. `typed`: the form that was sent to come here. It is sent again with the
 * chosen store, because it may be too long for an address.
 */
export const ChooseStorePage = ({
  stores,
  things,
  typed,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<StoreToChoose>
  readonly things: ReadonlyArray<EntityId>
  readonly typed: DropForm | undefined
}) => {
  const t = useWords()
  const choice = (id: string, name: ComponentChildren) =>
    typed === undefined ? (
      <p>
        <a href={newDropWith(things, id)}>{name}</a>
      </p>
    ) : (
      <button type="submit" class="plain" form="typed" name={storeField} value={id}>
        {name}
      </button>
    )
  return (
    <Frame title={t("Schedule a drop")} visitor={visitor} current={paths.drops}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.drops}>{t("All drops")}</a>
      </nav>
      {stores.length === 0 ? (
        <p>{t("No linked store has a platform, so there is nothing that a drop can change.")}</p>
      ) : (
        <section aria-labelledby="store">
          <h2 id="store">{t("Choose a store")}</h2>
          {typed !== undefined && (
            <form method="post" action={paths.newDrop} id="typed">
              <HiddenFields csrf={visitor.csrf} />
              <Hidden of={hiddenFieldsOf(typed).filter(([name]) => name !== storeField)} />
              <input type="hidden" name="do" value="update" />
            </form>
          )}
          <ul class="sheet todo">
            {stores.map(({ store, things: here, zone }) => {
              // Changes of things that the store does not have would be left out of the drop.
              const name = <Text>{store.name}</Text>
              return (
                <li key={store.id}>
                  <Icon name="store" />
                  <div>
                    {things.length > 0 && here === 0 ? <p>{name}</p> : choice(store.id, name)}
                    <p class="quiet">
                      {[store.domain, store.currency, ...(zone === undefined ? [] : [zone])].join(" · ")}
                    </p>
                    {here < things.length && (
                      <p class="quiet">
                        {here === 0
                          ? t("None of the chosen items is on this store.")
                          : t("{count, number} of the {total, number} chosen items are on this store.", {
                              count: here,
                              total: things.length
                            })}
                      </p>
                    )}
                  </div>
                </li>
              )
            })}
            <li>
              <Icon name="layers" />
              <div>
                {choice(allStores, t("All stores"))}
                <p class="quiet">
                  {t("The same values everywhere. A percentage off needs one store, because prices differ.")}
                </p>
              </div>
            </li>
          </ul>
        </section>
      )}
    </Frame>
  )
}
