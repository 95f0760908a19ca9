import type { ComponentChildren, JSX } from "preact"
import { secretInput } from "./Fields.ts"
import type { Saying } from "./languages/Words.tsx"
import { useWords } from "./Viewer.tsx"

/** The problem of a form, and the name of the field that it concerns. An empty name: the form as a whole. */
export interface Misfit {
  readonly field: string
  readonly message: Saying
}

/** The problem that concerns no field: it is shown above the form. */
export const problemOfForm = (misfit: Misfit | undefined): Saying | undefined =>
  misfit?.field === "" ? misfit.message : undefined

/** The id of the text that says what is wrong with a field. */
export const misfitId = (field: string): string => `${field}-misfit`

/** ARIA attributes that connect a field with its problem, and give it the focus. `rule`: the id of the text that describes the field. */
export const fieldState = (misfit: Misfit | undefined, field: string, rule?: string) => {
  const isMisfit = misfit?.field === field
  const described = [...(isMisfit ? [misfitId(field)] : []), ...(rule === undefined ? [] : [rule])].join(" ")
  return {
    ...(isMisfit && { "aria-invalid": "true" as const, autofocus: true }),
    ...(described !== "" && { "aria-describedby": described })
  }
}

/** The problem of a field, shown below it. */
export const FieldMisfit = ({ field, misfit }: { readonly field: string; readonly misfit: Misfit | undefined }) => {
  const t = useWords()
  return misfit?.field === field ? (
    <p class="wrong" id={misfitId(field)} role="alert">
      {t.say(misfit.message)}
    </p>
  ) : null
}

/** The problems of a form with several fields, in their order, and the field that gets the focus if there is no problem. */
export interface FormState {
  readonly misfits: ReadonlyArray<Misfit>
  readonly focus?: string | undefined
}

/** The id of the control of a field, whose name may have characters that an id should not have. */
export const controlId = (field: string): string => field.replaceAll(/[^\w-]/g, "_")

const ruleId = (field: string) => `${controlId(field)}-rule`

/** The attributes of a control: its id and name, and those that connect it with its problems and its rule. The first wrong one has the focus. */
export const controlState = ({ focus, misfits }: FormState, field: string, rule?: string) => {
  const isMisfit = misfits.some((misfit) => misfit.field === field)
  const described = [
    ...(isMisfit ? [misfitId(controlId(field))] : []),
    ...(rule === undefined ? [] : [ruleId(field)])
  ].join(" ")
  return {
    id: controlId(field),
    name: field,
    ...(isMisfit && { "aria-invalid": "true" as const }),
    ...((misfits[0]?.field ?? focus) === field && { autofocus: true }),
    ...(described !== "" && { "aria-describedby": described })
  }
}

/** The problems of one field of a form, shown below it. */
export const Misfits = ({ field, misfits }: Pick<FormState, "misfits"> & { readonly field: string }) => {
  const t = useWords()
  const own = misfits.filter((misfit) => misfit.field === field)
  return own.length === 0 ? null : (
    <p class="wrong" id={misfitId(controlId(field))}>
      {own.map(({ message }) => t.say(message)).join(" ")}
    </p>
  )
}

/** A control of a form with several fields: its label, the control, its problems and its rule. */
export const Labelled = ({
  children,
  field,
  form,
  label,
  rule
}: {
  readonly form: FormState
  readonly field: string
  readonly label: ComponentChildren
  readonly rule?: string | undefined
  readonly children: (attributes: ReturnType<typeof controlState>) => JSX.Element
}) => (
  <div class="labelled">
    <label for={controlId(field)}>{label}</label>
    {children(controlState(form, field, rule))}
    <Misfits field={field} misfits={form.misfits} />
    {rule !== undefined && (
      <p class="quiet" id={ruleId(field)}>
        {rule}
      </p>
    )}
  </div>
)

/** The field of a new password, with the bounds that the server checks. `state`: its ARIA attributes. */
export const NewPassword = ({ state }: { readonly state: ReturnType<typeof fieldState> }) => {
  const t = useWords()
  return (
    <label>
      {t("New password")}
      <input
        {...secretInput("password")}
        autocomplete="new-password"
        required
        minLength={10}
        maxLength={200}
        {...state}
      />
    </label>
  )
}

/** A text to be copied. With JavaScript it has a button for that. */
export const CopyText = ({
  id,
  label,
  text
}: {
  readonly id: string
  readonly label: string
  readonly text: string
}) => {
  const t = useWords()
  return (
    <div class="copied">
      <label>
        {label}
        <input type="text" id={id} value={text} readOnly />
      </label>
      <button type="button" class="plain" data-copy={id} data-copied={t("Copied")} hidden>
        {t("Copy")}
      </button>
    </div>
  )
}

type Fact = readonly [name: string, value: ComponentChildren]

/** A list of facts, without those that are false. `look`: the class of the list. */
export const Facts = ({ look, of }: { readonly of: ReadonlyArray<Fact | false>; readonly look?: string }) => (
  <dl class={look}>
    {of
      .filter((fact) => fact !== false)
      .flatMap(([name, value]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
  </dl>
)
