import type { IconName } from "../Icon.tsx"
import { Icon } from "../Icon.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { useWords } from "../Viewer.tsx"

const formats: ReadonlyArray<{
  readonly format: string
  readonly name: Sentence
  readonly icon: IconName
  readonly keys?: string
  readonly toggles: boolean
}> = [
  { format: "bold", name: "Bold", icon: "bold", keys: "Control+B", toggles: true },
  { format: "italic", name: "Italic", icon: "italic", keys: "Control+I", toggles: true },
  { format: "heading", name: "Heading", icon: "heading", toggles: true },
  { format: "bullets", name: "Bulleted list", icon: "list", keys: "Control+Shift+8", toggles: true },
  { format: "numbers", name: "Numbered list", icon: "list-ordered", keys: "Control+Shift+9", toggles: true },
  { format: "link", name: "Link", icon: "link", keys: "Control+K", toggles: true },
  { format: "undo", name: "Undo", icon: "undo-2", keys: "Control+Z", toggles: false },
  { format: "redo", name: "Redo", icon: "redo-2", keys: "Control+Y", toggles: false }
]

const LinkForm = ({ id }: { readonly id: string }) => {
  const t = useWords()
  return (
    <div class="link" data-link hidden>
      <label>
        {t("Address of the link")}
        {/* Without a name: it is not sent. */}
        <input type="text" inputMode="url" dir="ltr" autocomplete="off" aria-describedby={`${id}-link-misfit`} />
      </label>
      <p class="wrong" id={`${id}-link-misfit`} role="alert" data-misfit hidden>
        {t("The address must begin with https://, http://, mailto:, tel:, / or #.")}
      </p>
      <div class="buttons">
        <button type="button" class="plain" data-does="set">
          {t("Set link")}
        </button>
        <button type="button" class="plain" data-does="remove">
          {t("Remove link")}
        </button>
      </div>
    </div>
  )
}

/**
 * The editor of an HTML value, before the text area that keeps the value. It is hidden until its script (assets/richtext.ts) runs.
 * `lang`, `dir`: those of the value, if they are known.
 */
export const RichText = ({
  dir,
  id,
  label,
  lang
}: {
  /** The id of the text area. */
  readonly id: string
  readonly label: string
  readonly lang?: string | undefined
  readonly dir?: "rtl" | "ltr" | undefined
}) => {
  const t = useWords()
  return (
    <div class="rich" data-rich hidden>
      <div role="toolbar" aria-label={t("Format of {field}", { field: label })}>
        {formats.map(({ format, icon, keys, name, toggles }) => (
          <button
            type="button"
            class="bare icon-only"
            key={format}
            data-format={format}
            aria-label={t(name)}
            title={t(name)}
            {...(keys !== undefined && { "aria-keyshortcuts": keys })}
            {...(toggles && { "aria-pressed": "false" as const })}
          >
            <Icon name={icon} />
          </button>
        ))}
        <button type="button" class="bare" data-source aria-pressed="false">
          {t("HTML")}
        </button>
      </div>
      <LinkForm id={id} />
      {/* biome-ignore lint/a11y/useSemanticElements: a text area cannot show formatted text. */}
      <div
        class="surface"
        data-surface
        role="textbox"
        tabIndex={0}
        {...{ autofocus: true }}
        aria-multiline="true"
        aria-label={label}
        dir={dir ?? "auto"}
        {...(lang !== undefined && { lang })}
      />
      <p
        class="quiet"
        role="status"
        data-reason
        data-loses={t("Shown as HTML, because the editor would lose parts of it: {parts}", { parts: "{parts}" })}
        data-changes={t("Shown as HTML, because the editor would write it differently.")}
        hidden
      />
    </div>
  )
}
