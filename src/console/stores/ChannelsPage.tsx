import { Either } from "effect"
import type { Store } from "../../model/Store.ts"
import type { Permission } from "../../platform/PlatformAdapter.ts"
import { goneOf, type SalesChannel } from "../../platform/SalesChannel.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, Hidden, HiddenFields, Note, Refusal } from "../Frame.tsx"
import type { Saying, Words } from "../languages/Words.tsx"
import { paths, storeChannelsOf } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { WithoutPermission } from "./LinkStorePage.tsx"

/** The names of the form's fields. The name of a channel's checkbox ends with its id, and its value is the channel's name. */
export const channelFields = { of: "of", before: "before", channel: "channel-" } as const

/** The sales channels that were chosen for new records, by the platform's ids. Null: the platform's default. */
export type Choice = ReadonlyArray<string> | null

/** A choice as text, for the form: the service compares it with the choice of that time. */
export const textOfChoice = (choice: Choice): string => JSON.stringify(choice)

/** What was typed into the form: the names of the ticked channels, by their ids. */
export interface TypedChannels {
  readonly of: "default" | "chosen" | undefined
  readonly ticked: ReadonlyMap<string, string>
}

export interface ChannelsPageContent {
  readonly visitor: Visitor
  readonly store: Store
  readonly chosen: Choice
  /** Left: why the channels cannot be read. */
  readonly live: Either.Either<ReadonlyArray<SalesChannel>, string>
  readonly isDefault: (channel: SalesChannel) => boolean
  /** The optional permissions that the store's token lacked in its last test. */
  readonly missing: ReadonlyArray<Permission>
  readonly typed?: TypedChannels
  readonly refusal?: Saying
  readonly note?: string | undefined
}

const nameOf = ({ id, name }: SalesChannel) => (name.trim() === "" ? id : name)

/** A choice in words. Channels that the store does not have any more are left out. */
export const wordsOfChoice = (t: Words, choice: Choice, channels: ReadonlyArray<SalesChannel>): string => {
  const names = channels.filter(({ id }) => choice?.includes(id)).map(nameOf)
  return choice === null ? t("the default") : names.length === 0 ? t("no channel") : t.list(names)
}

/** What does not work without the permissions that the token lacks. */
const Missing = ({ missing }: Pick<ChannelsPageContent, "missing">) => {
  const t = useWords()
  return missing.length === 0 ? null : (
    <>
      <p>{t("The store's token lacks permissions:")}</p>
      <ul>
        {missing.map((permission) => (
          <li key={permission.name}>
            <WithoutPermission permission={permission} />
          </li>
        ))}
      </ul>
      <p>
        {t.rich("Grant them to the app in the store, then test the token on the page <link>Stores</link>.", {
          link: (words) => <a href={`${paths.stores}#linked`}>{words}</a>
        })}
      </p>
    </>
  )
}

/** The channels could not be read. A form that was sent can be sent again. */
const Unread = ({
  chosen,
  missing,
  store,
  typed,
  visitor,
  why
}: Pick<ChannelsPageContent, "chosen" | "missing" | "store" | "typed" | "visitor"> & { readonly why: string }) => {
  const t = useWords()
  return (
    <>
      <Alert>
        {typed !== undefined && <p>{t("Nothing was saved.")}</p>}
        <p>{t("The sales channels of the store cannot be read now, so none can be chosen.")}</p>
        <p>{t.say(why)}</p>
        <Missing missing={missing} />
      </Alert>
      {typed === undefined ? (
        <p>
          <a class="button" href={storeChannelsOf(store.id)}>
            {t("Retry")}
          </a>
        </p>
      ) : (
        <form method="post" action={paths.storeChannels}>
          <HiddenFields csrf={visitor.csrf} id={store.id} />
          <Hidden
            of={[
              [channelFields.of, typed.of],
              [channelFields.before, textOfChoice(chosen)],
              ...[...typed.ticked].map(([id, name]) => [`${channelFields.channel}${id}`, name] as const)
            ]}
          />
          <button type="submit">{t("Retry")}</button>
        </form>
      )}
    </>
  )
}

/** What to know about a channel before it is chosen. */
const Remark = ({ channel }: { readonly channel: SalesChannel }) => {
  const t = useWords()
  const remarks = [
    channel.catalog_kind === "market" && t("Only in a market."),
    channel.catalog_kind === "company_location" && t("Only for companies."),
    channel.auto_publish && t("The store puts new products here by itself.")
  ].filter((remark) => remark !== false)
  return remarks.length === 0 ? null : <span class="quiet">{remarks.join(" ")}</span>
}

const ChannelForm = ({
  channels,
  chosen,
  isDefault,
  store,
  typed,
  visitor
}: Omit<ChannelsPageContent, "live"> & { readonly channels: ReadonlyArray<SalesChannel> }) => {
  const t = useWords()
  const defaults = channels.filter(isDefault)
  const of = typed === undefined ? (chosen === null ? "default" : "chosen") : typed.of
  const isTicked = (channel: SalesChannel) =>
    typed === undefined ? (chosen?.includes(channel.id) ?? isDefault(channel)) : typed.ticked.has(channel.id)
  return (
    <form method="post" action={paths.storeChannels} class="sheet fields">
      <HiddenFields csrf={visitor.csrf} id={store.id} />
      <input type="hidden" name={channelFields.before} value={textOfChoice(chosen)} />
      <fieldset class="channels">
        <legend>{t("New products and collections")}</legend>
        <label class="choice">
          <input type="radio" name={channelFields.of} value="default" checked={of === "default"} required />
          <strong>
            {defaults.length === 0
              ? t("The default: the store has no such channel, so none")
              : t("The default: {channels}", { channels: t.list(defaults.map(nameOf)) })}
          </strong>
          <span class="quiet">
            {t(
              "Customers look for new products there. Other channels have rules of their own, so they are used only if you choose them."
            )}
          </span>
        </label>
        <label class="choice">
          <input type="radio" name={channelFields.of} value="chosen" checked={of === "chosen"} required />
          <strong>{t("The channels that you choose")}</strong>
          <span class="quiet">{t("Without any, new products and collections are on no channel.")}</span>
        </label>
        <ul class="plain" aria-label={t("Sales channels")}>
          {channels.map((channel) => (
            <li key={channel.id}>
              <label class="choice">
                <input
                  type="checkbox"
                  name={`${channelFields.channel}${channel.id}`}
                  value={nameOf(channel)}
                  checked={isTicked(channel)}
                />
                <span>
                  <bdi>{nameOf(channel)}</bdi>
                </span>{" "}
                <Remark channel={channel} />
              </label>
            </li>
          ))}
        </ul>
      </fieldset>
      <div class="buttons">
        <button type="submit">{t("Save")}</button>
        <a href={paths.stores}>{t("Cancel")}</a>
      </div>
    </form>
  )
}

/** The sales channels of a store, and those on which publishes put new products and collections. */
export const ChannelsPage = ({ live, ...content }: ChannelsPageContent) => {
  const t = useWords()
  const { chosen, missing, note, refusal, store, visitor } = content
  const gone = Either.isRight(live) ? goneOf(chosen, live.right) : []
  return (
    <Frame title={t("Sales channels of {store}", { store: store.name })} visitor={visitor} current={paths.stores}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.stores}>{t("All stores")}</a>
      </nav>
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <Refusal text={refusal} />
      {gone.length > 0 && (
        <Alert>
          <p>
            {t(
              "{count, plural, one {# chosen channel is gone from the store: {channels}. Publishes leave it out, and say so, until you save this form.} other {# chosen channels are gone from the store: {channels}. Publishes leave them out, and say so, until you save this form.}}",
              { count: gone.length, channels: t.list(gone) }
            )}
          </p>
        </Alert>
      )}
      {Either.isRight(live) && missing.length > 0 && (
        <Alert>
          <Missing missing={missing} />
        </Alert>
      )}
      <p class="quiet">
        {t(
          "A publish that creates a product or collection in the store puts it on these channels. What the store has already stays where it is."
        )}
      </p>
      {Either.isLeft(live) ? (
        <Unread {...content} why={live.left} />
      ) : (
        <ChannelForm {...content} channels={live.right} />
      )}
    </Frame>
  )
}
