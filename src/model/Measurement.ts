/**
 * Units of metafields by type: the short name that Shopify documents, and the long name that its API returns in capitals. Volumes have
 * further names.
 */
const units = {
  dimension: { mm: "millimeters", cm: "centimeters", m: "meters", in: "inches", ft: "feet", yd: "yards" },
  weight: { g: "grams", kg: "kilograms", oz: "ounces", lb: "pounds" },
  volume: {
    ...{ ml: "milliliters", cl: "centiliters", l: "liters", m3: "cubic_meters" },
    ...{ us_fl_oz: "fluid_ounces", us_pt: "pints", us_qt: "quarts", us_gal: "gallons" },
    ...{ imp_fl_oz: "imperial_fluid_ounces", imp_pt: "imperial_pints" },
    ...{ imp_qt: "imperial_quarts", imp_gal: "imperial_gallons" }
  }
}

/** Types whose values have a number and a unit, as Shopify defines them: `{"value":25,"unit":"cm"}`. */
export const measurementTypes: ReadonlyArray<string> = [
  ...Object.keys(units),
  ...["antenna_gain", "area", "battery_charge_capacity", "battery_energy_capacity", "capacitance", "concentration"],
  ...["data_storage_capacity", "data_transfer_rate", "display_density", "distance", "duration", "electric_current"],
  ...["electrical_resistance", "energy", "frequency", "illuminance", "inductance", "luminous_flux", "mass_flow_rate"],
  ...["power", "pressure", "resolution", "rotational_speed", "sound_level", "speed", "temperature", "thermal_power"],
  ...["voltage", "volumetric_flow_rate"]
]

const longNames: ReadonlyMap<string, string> = new Map(Object.values(units).flatMap((names) => Object.entries(names)))

/** The long name of a unit, for any of its names in any case. A name that is not known is returned in lower case. */
export const unitOf = (name: string): string => {
  const lower = name.toLowerCase()
  return longNames.get(lower) ?? lower
}

const typesByUnit: ReadonlyMap<string, string> = new Map(
  Object.entries(units).flatMap(([type, names]) => Object.values(names).map((unit) => [unit, type] as const))
)

/** The type of measurements that have the unit. Undefined: the unit is not one of lengths, weights and volumes. */
export const typeOfUnit = (name: string): string | undefined => typesByUnit.get(unitOf(name))

/** How many of a base unit (mm, g, ml) one unit has, by its long name. */
const sizes: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ mm: 1, cm: 10, m: 1_000, in: 25.4, ft: 304.8, yd: 914.4 },
    ...{ g: 1, kg: 1_000, oz: 28.349523125, lb: 453.59237 },
    ...{ ml: 1, cl: 10, l: 1_000, m3: 1_000_000 },
    ...{ us_fl_oz: 29.5735295625, us_pt: 473.176473, us_qt: 946.352946, us_gal: 3_785.411784 },
    ...{ imp_fl_oz: 28.4130625, imp_pt: 568.26125, imp_qt: 1_136.5225, imp_gal: 4_546.09 }
  }).map(([name, size]) => [unitOf(name), size] as const)
)

/** A measurement in the base unit of its type. Units of other types than length, weight and volume are their own base. */
export const inBaseUnit = (amount: number, unit: string): { readonly amount: number; readonly unit: string } => {
  const [type, size] = [typeOfUnit(unit), sizes.get(unitOf(unit))]
  return type === undefined || size === undefined
    ? { amount, unit: unitOf(unit) }
    : { amount: amount * size, unit: type }
}

/** The short names of all units of a type. Undefined: not all names are known, and a platform checks them. */
export const unitsOf = (type: string): ReadonlyArray<string> | undefined =>
  type === "dimension" || type === "weight" ? Object.keys(units[type]) : undefined
