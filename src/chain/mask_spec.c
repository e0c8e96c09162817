#include "chain/mask_spec.h"

#include "mask/design.h"

enum status mask_spec_load(char **spec, struct mask_options *options, struct mask **mask)
{
    const struct mask_load_options *load = &options->load;
    const char *own = design_options(spec[0]);
    if (own)
        TRY(design_load(spec, load->sound.rate, load, mask));
    for (char **word = spec + 1; *word; word++)
        TRY(mask_options_parse(*word, own, options));
    if (own && (load->raw.format || load->is_about_configs))
        return fail(CAUSE_USAGE, "mask %s is made by halo: %s is for files", spec[0],
                    load->raw.format ? "raw=" : mask_config_option(load));
    if (load->raw.channels && !load->raw.format)
        return fail(CAUSE_USAGE, "channels= needs raw=; channel=N selects one channel");
    if (own && mask_directions_given(&load->directions))
        return fail(CAUSE_USAGE, "az=, el=, speakers= and interpolate= are for SOFA files");
    return own ? STATUS_OK : design_load(spec, load->sound.rate, load, mask);
}
